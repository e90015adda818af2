"""Encryption at rest: values are encrypted before a storage keeps them, in Kubernetes' own formats.

``configuration`` reads what an EncryptionConfiguration asks for, ``transformers`` and ``envelope``
encrypt and decrypt one value, ``rules`` choose by the resource of a key, ``store`` is the storage
that does it around another one, ``kms`` talks to a key management service.
"""
