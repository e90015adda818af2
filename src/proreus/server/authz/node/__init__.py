"""What kubelets may do: to read what the pods on their own node need, and no more.

watch caches of pods, volumes, attachments → ``following`` → ``graph`` → ``authorizer``
"""
