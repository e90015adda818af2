"""JSON Web Tokens: their compact form, keys and signatures, and issuers of users' tokens."""
