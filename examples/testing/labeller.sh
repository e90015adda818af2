#!/bin/sh
# A controller to be tested, of kubectl and a shell: every ConfigMap without an owner gets one.
kubectl get configmaps --namespace default --watch --output name |
    while read -r found; do
        kubectl label --namespace default --overwrite "$found" owner=nobody
    done
