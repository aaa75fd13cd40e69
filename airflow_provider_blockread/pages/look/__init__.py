"""How things look: words, numbers, strips and charts."""
