"""API priority and fairness: which requests wait for which others (flowcontrol.apiserver.k8s.io).

A FlowSchema puts a request into a flow of a priority level (``flow_schemas``). A level has seats
(``concurrency``) and queues, in which flows wait and are served fairly (``queues``). ``fairness``
holds what is in force, ``following`` keeps it equal to the stored objects, ``maintenance``
makes and keeps the objects that every cluster has.
"""
