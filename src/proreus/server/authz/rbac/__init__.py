"""Role-based access control: Roles, ClusterRoles and their bindings, compiled for decisions.

    watch caches of the four kinds → ``following`` → ``authorizer.Rbac`` → a decision per request

``rules`` says what one rule allows, ``covers`` whether rules contain others (escalation),
``escalation`` refuses to grant what the requester does not hold, ``bootstrap`` makes the roles and
bindings that every cluster begins with.
"""
