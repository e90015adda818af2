"""Validation rules in CEL, behind two functions: ``declared.rule_violations`` for definitions and
``program.Rules.violations`` for objects. Needs the extra ``cel``.
"""
