package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/server/status"
)

const (
	// benchNodes and benchPods are what is waited for: so many pods running, over so many nodes.
	benchNodes = 2
	benchPods  = 6
)

// workersResult is what a cluster with nodes takes, in seconds until its pods run, and until they answer through their Ingress.
type workersResult struct {
	KQueen        []float64 `json:"kqueen"`
	Hand          []float64 `json:"hand"`
	KQueenAnswers []float64 `json:"kqueenAnswers"`
	HandAnswers   []float64 `json:"handAnswers"`
	// NodeMiB is the anonymous memory of one node's programs, the mean over the nodes of the last run, and
	// NodeSharedMiB what they map beside it, which is mostly the files of the programs, shared by all nodes.
	NodeMiB map[string]float64 `json:"nodeMiB"`
	// AddonMiB are the working sets of the pods of each addon, of all nodes of the last run together.
	AddonMiB map[string]float64 `json:"addonMiB"`
}

// workers measures in turn, as oneByOne does. What addons take is looked at when the last cluster was idle for so long.
func workers(ctx context.Context, inst *installation, runs int, idle time.Duration) (workersResult, error) {
	var r workersResult
	store := release.NewStore(inst.releases)
	parts, ok, err := store.LookupNodeParts()
	if err != nil {
		return r, err
	}
	addons, have, err := store.LookupAddonImages()
	if err == nil && (!ok || !have) {
		err = errors.New("the parts of nodes are not built; run: make kubernetes")
	}
	if err != nil {
		return r, err
	}
	for n := range runs {
		hand, err := byHand(ctx, inst, parts, addons)
		if err != nil {
			return r, fmt.Errorf("create a cluster by hand: %w", err)
		}
		r.Hand, r.HandAnswers = append(r.Hand, hand.pods.Seconds()), append(r.HandAnswers, hand.answers.Seconds())
		name := fmt.Sprintf("workers-%d", n)
		ours, config, err := clusterWithNodes(ctx, inst, name, imageNamed(parts.Images(), "busybox"))
		if err != nil {
			return r, fmt.Errorf("create cluster %s with nodes: %w", name, err)
		}
		r.KQueen, r.KQueenAnswers = append(r.KQueen, ours.pods.Seconds()), append(r.KQueenAnswers, ours.answers.Seconds())
		if r.NodeMiB, err = nodeMemory(ctx, inst); err != nil {
			return r, err
		}
		if n == runs-1 {
			if r.AddonMiB, err = idleAddons(ctx, config, idle); err != nil {
				return r, fmt.Errorf("memory of addons: %w", err)
			}
		}
		if err := inst.deleteAll(ctx, []string{name}); err != nil {
			return r, err
		}
	}
	return r, nil
}

func idleAddons(ctx context.Context, config *rest.Config, idle time.Duration) (map[string]float64, error) {
	select {
	case <-time.After(idle):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return addonMemory(ctx, config)
}

// clusterWithNodes does with KQueen what byHand does without.
func clusterWithNodes(ctx context.Context, inst *installation, name, image string) (took, *rest.Config, error) {
	begin := time.Now()
	if err := inst.create(ctx, name); err != nil {
		return took{}, nil, err
	}
	if err := inst.kqueen(ctx, "nodepool", "create", name, "--cluster", name, "--nodes", fmt.Sprint(benchNodes)); err != nil {
		return took{}, nil, err
	}
	if err := awaitReady(ctx, inst, name); err != nil {
		return took{}, nil, err
	}
	kubeconfig, err := awaitKubeconfig(ctx, inst, name+"-kubeconfig")
	if err != nil {
		return took{}, nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return took{}, nil, err
	}
	t, err := application(ctx, begin, config, image, func(ctx context.Context, c client.Client) (string, error) {
		s := &corev1.Service{}
		err := c.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "traefik"}, s)
		if err != nil || len(s.Status.LoadBalancer.Ingress) == 0 {
			return "", client.IgnoreNotFound(err)
		}
		return "http://" + s.Status.LoadBalancer.Ingress[0].IP + "/", nil
	})
	return t, config, err
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

// imageNamed is the reference of an image with that name, or empty.
func imageNamed(images []release.Image, name string) string {
	for _, image := range images {
		if strings.Contains(image.Name, "/"+name+":") {
			return image.Name
		}
	}
	return ""
}

func (r workersResult) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, row := range []struct {
		title        string
		kqueen, hand []float64
	}{
		{fmt.Sprintf("%d PODS RUN ON %d NODES", benchPods, benchNodes), r.KQueen, r.Hand},
		{"THEY ANSWER THROUGH THEIR INGRESS", r.KQueenAnswers, r.HandAnswers},
	} {
		fmt.Fprintf(w, "\n%s\tKQUEEN p50\tp100\tBY HAND p50\tp100\tRATIO p50\n", row.title)
		fmt.Fprintf(w, "%d runs\t%.2fs\t%.2fs\t%.2fs\t%.2fs\t%.2f\n", len(row.kqueen),
			median(row.kqueen), slices.Max(row.kqueen), median(row.hand), slices.Max(row.hand), median(row.kqueen)/median(row.hand))
	}
	printMiB(w, "MEMORY OF A NODE", r.NodeMiB)
	printMiB(w, fmt.Sprintf("MEMORY OF THE ADDONS, %d NODES", benchNodes), r.AddonMiB)
	_ = w.Flush()
}
