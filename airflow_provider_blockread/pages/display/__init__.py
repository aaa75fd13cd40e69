"""How pages display things: words, numbers, strips and charts."""
