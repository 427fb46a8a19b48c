"""The connection to a cluster."""

from __future__ import annotations

from typing import Any, Dict, Optional

from kubernetes import client, config

_OWN_NAMESPACE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"


class Cluster:
    """A namespace of a cluster, and the clients with which this package reads and changes it.

    In a pod it uses the pod's service account and namespace, otherwise the kubeconfig. namespace and context
    take precedence over these.
    """

    def __init__(self, namespace: Optional[str] = None, context: Optional[str] = None) -> None:
        settings = client.Configuration()
        found = None
        try:
            if context is not None:
                raise config.ConfigException("kubeconfig has the contexts")
            config.load_incluster_config(client_configuration=settings)
            with open(_OWN_NAMESPACE, encoding="utf-8") as f:
                found = f.read()
        except config.ConfigException:
            config.load_kube_config(context=context, client_configuration=settings)
            contexts, current = config.list_kube_config_contexts()
            chosen = current if context is None else next(c for c in contexts if c["name"] == context)
            found = chosen["context"].get("namespace")
        self.namespace: str = namespace or found or "default"
        api = client.ApiClient(settings)
        self.jobs: Any = client.CustomObjectsApi(api)
        self.pods: Any = client.CoreV1Api(api)

    @property
    def kind(self) -> Dict[str, str]:
        """The arguments by which CustomObjectsApi finds LaunchJobs."""
        return {"group": "muster.dev", "version": "v1alpha1", "namespace": self.namespace, "plural": "launchjobs"}
