"""The validation rules of a schema (``x-kubernetes-validations``): expressions in CEL.

They are read twice: ``declared.rule_violations`` checks them when a definition is written,
``program.SchemaRules.violations`` runs them on objects. ``schema_shapes`` is what of a schema they
can see, ``compiled`` keeps their programs.
"""
