package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/server/status"
)

const (
	// benchNodes and benchPods are what is waited for: so many pods running, over so many nodes.
	benchNodes = 2
	benchPods  = 6
)

// workersResult is what a cluster with nodes takes, in seconds until its pods run.
type workersResult struct {
	KQueen []float64 `json:"kqueen"`
	Hand   []float64 `json:"hand"`
	// NodeMiB is the anonymous memory of one node's programs, the mean over the nodes of the last run, and
	// NodeSharedMiB what they map beside it, which is mostly the files of the programs, shared by all nodes.
	NodeMiB map[string]float64 `json:"nodeMiB"`
}

// workers measures in turn, as oneByOne does.
func workers(ctx context.Context, inst *installation, runs int) (workersResult, error) {
	var r workersResult
	parts, ok, err := release.NewStore(inst.releases).LookupNodeParts()
	if err == nil && !ok {
		err = errors.New("the parts of nodes are not built; run: make kubernetes")
	}
	if err != nil {
		return r, err
	}
	for n := range runs {
		took, err := byHand(ctx, inst, parts)
		if err != nil {
			return r, fmt.Errorf("create a cluster by hand: %w", err)
		}
		r.Hand = append(r.Hand, took.Seconds())
		name := fmt.Sprintf("workers-%d", n)
		if took, err = clusterWithNodes(ctx, inst, name, testImage(parts)); err != nil {
			return r, fmt.Errorf("create cluster %s with nodes: %w", name, err)
		}
		r.KQueen = append(r.KQueen, took.Seconds())
		if r.NodeMiB, err = nodeMemory(ctx, inst); err != nil {
			return r, err
		}
		if err := inst.deleteAll(ctx, []string{name}); err != nil {
			return r, err
		}
	}
	return r, nil
}

// clusterWithNodes does with KQueen what byHand does without.
func clusterWithNodes(ctx context.Context, inst *installation, name, image string) (time.Duration, error) {
	begin := time.Now()
	if err := inst.create(ctx, name); err != nil {
		return 0, err
	}
	if err := inst.kqueen(ctx, "nodepool", "create", name, "--cluster", name, "--nodes", fmt.Sprint(benchNodes)); err != nil {
		return 0, err
	}
	if err := awaitReady(ctx, inst, name); err != nil {
		return 0, err
	}
	kubeconfig, err := awaitKubeconfig(ctx, inst, name+"-kubeconfig")
	if err != nil {
		return 0, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return 0, err
	}
	if err := runPods(ctx, config, image); err != nil {
		return 0, err
	}
	return time.Since(begin), nil
}

// runPods creates the Deployment and waits until all of its pods run.
func runPods(ctx context.Context, config *rest.Config, image string) error {
	c, err := tenantClient(config)
	if err != nil {
		return err
	}
	// Without the account no pod is let in, and the controller tries again ever more seldom.
	account := client.ObjectKey{Namespace: "default", Name: "default"}
	err = await(ctx, func() (bool, error) {
		err := c.Get(ctx, account, &corev1.ServiceAccount{})
		return err == nil, client.IgnoreNotFound(err)
	})
	if err == nil {
		err = c.Create(ctx, deployment(image))
	}
	if err != nil {
		return err
	}
	return await(ctx, func() (bool, error) {
		list := &corev1.PodList{}
		if err := c.List(ctx, list, client.InNamespace("default")); err != nil {
			return false, err
		}
		running := 0
		for i := range list.Items {
			if list.Items[i].Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == benchPods, nil
	})
}

// removePods takes the pods away in good order, so that nothing of them is left on the host.
func removePods(ctx context.Context, config *rest.Config) error {
	c, err := tenantClient(config)
	if err != nil {
		return err
	}
	if err := c.Delete(ctx, deployment(""), client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		return err
	}
	return await(ctx, func() (bool, error) {
		list := &corev1.PodList{}
		err := c.List(ctx, list, client.InNamespace("default"))
		return err == nil && len(list.Items) == 0, err
	})
}

func tenantClient(config *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return kube.Connect(config, scheme)
}

func deployment(image string) *appsv1.Deployment {
	labels := map[string]string{"app": "bench"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "bench"}}
	d.Spec.Replicas = ptr.To[int32](benchPods)
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](0)
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "sleep", Image: image, Command: []string{"sleep", "1000000"}}}
	return d
}

// await looks until it is so.
func await(ctx context.Context, is func() (bool, error)) error {
	tick := time.NewTicker(askInterval)
	defer tick.Stop()
	for {
		if ok, err := is(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// nodeMemory looks at what runs for machines, by the name of the program.
func nodeMemory(ctx context.Context, inst *installation) (map[string]float64, error) {
	found, err := status.Read(ctx, inst.dir)
	if err != nil {
		return nil, err
	}
	mean := map[string]float64{}
	for _, w := range found.Workloads {
		isMachine := slices.ContainsFunc(w.Components, func(c status.ComponentStatus) bool { return c.Name == "kubelet" })
		for _, c := range w.Components {
			if isMachine {
				mean[c.Name] += float64(c.MemoryBytes) / (1 << 20) / benchNodes
			}
		}
	}
	return mean, nil
}

// testImage is the one that can sleep.
func testImage(parts release.NodeParts) string {
	for _, image := range parts.Images() {
		if strings.Contains(image.Name, "/busybox:") {
			return image.Name
		}
	}
	return ""
}

func (r workersResult) print(w io.Writer) {
	if len(r.KQueen) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%d PODS RUN ON %d NODES\tKQUEEN p50\tp100\tBY HAND p50\tp100\tRATIO p50\n", benchPods, benchNodes)
	fmt.Fprintf(w, "%d runs\t%.2fs\t%.2fs\t%.2fs\t%.2fs\t%.2f\n", len(r.KQueen),
		median(r.KQueen), slices.Max(r.KQueen), median(r.Hand), slices.Max(r.Hand), median(r.KQueen)/median(r.Hand))
	fmt.Fprintln(w, "\nMEMORY OF A NODE")
	for _, name := range slices.Sorted(maps.Keys(r.NodeMiB)) {
		fmt.Fprintf(w, "%s\t%.0f MiB\n", name, r.NodeMiB[name])
	}
}
