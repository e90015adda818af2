"""Admission webhooks: HTTPS servers of users that change or refuse what is written.

``configuration`` is what objects say of webhooks, ``following`` keeps it equal to the watch caches,
``review`` is what is sent and received, ``patching`` makes the changed object, ``calling`` is one
call and what becomes of its failure, ``dispatch`` the order of all.
"""
