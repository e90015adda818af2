"""What rules can call, a module per subject; ``table`` has it all.

Nothing is imported here: expressions are first used on several threads, and one that imports a
package while another imports a module of it may get that module half done.
"""
