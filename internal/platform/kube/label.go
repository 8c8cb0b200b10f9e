package kube

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// LabelNode sets labels of a Node and leaves its others. A kubelet may do that to its own Node with keys that are not
// Kubernetes' own (the admission plugin NodeRestriction).
func LabelNode(ctx context.Context, config *rest.Config, node string, labels map[string]string) error {
	return patchNode(ctx, config, node, "labels", labels)
}

// AnnotateNode sets annotations of a Node and leaves its others.
func AnnotateNode(ctx context.Context, config *rest.Config, node string, annotations map[string]string) error {
	return patchNode(ctx, config, node, "annotations", annotations)
}

func patchNode(ctx context.Context, config *rest.Config, node, field string, values map[string]string) error {
	c, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{field: values}})
	if err != nil {
		return fmt.Errorf("write %s of node %s: %w", field, node, err)
	}
	_, err = c.Resource(corev1.SchemeGroupVersion.WithResource("nodes")).Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
