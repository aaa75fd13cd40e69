"""The stores, one file each, found by the scheme of a URI; a client is loaded only where its store is opened."""
