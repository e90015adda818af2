"""Validation rules in CEL. Needs the extra ``cel``.

A schema's rules are read twice: ``declared.rule_violations`` judges them when a definition is
written, ``program.SchemaRules.violations`` runs them on objects. On the way lie ``shapes`` (what of
a schema rules can see), ``checker`` (the library: text → tree with types), ``estimate`` (what the
tree can cost at most) and ``evaluate`` (the tree made to run, metered, over ``functions``).
"""
