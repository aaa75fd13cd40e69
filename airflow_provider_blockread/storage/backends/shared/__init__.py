"""Code that the stores share: base classes, pages of listings, identities of versions, errors of clients."""
