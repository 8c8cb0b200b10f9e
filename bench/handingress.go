package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/workers/addons"
)

// handIngress is the ingress controller of a cluster that is made by hand: the image on each node, the manifest that KQueen has,
// without the Gateway API, and routes between the nodes, by which it reaches pods.
type handIngress struct {
	*hand

	images []release.Image
}

func (h *handIngress) install(ctx context.Context, config *rest.Config) error {
	c, err := tenantClient(config)
	if err != nil {
		return err
	}
	objects, err := h.manifest()
	if err != nil {
		return fmt.Errorf("manifest of the ingress controller: %w", err)
	}
	steps, ctx := errgroup.WithContext(ctx)
	steps.Go(func() error { return kube.Apply(ctx, c, objects, "bench") })
	steps.Go(func() error { return h.routes(ctx, c) })
	for _, n := range h.nodes {
		steps.Go(func() error {
			i := slices.IndexFunc(h.images, func(i release.Image) bool { return i.Name == imageNamed(h.images, "traefik") })
			if err := n.load(ctx, h.images[i]); err != nil {
				return err
			}
			return labelled(ctx, config, n.name)
		})
	}
	return steps.Wait()
}

// labelled says on a node that it has the image, as KQueen's importer does, once the kubelet has registered it.
func labelled(ctx context.Context, config *rest.Config, node string) error {
	return await(ctx, func() (bool, error) {
		err := kube.LabelNode(ctx, config, node, map[string]string{v1alpha1.LabelAddonImages: v1alpha1.AddonImagesImported})
		return err == nil, client.IgnoreNotFound(err)
	})
}

// manifest are the objects that KQueen has for it.
func (h *handIngress) manifest() ([]client.Object, error) {
	ca, err := os.ReadFile(h.file("pki/ca.crt"))
	if err != nil {
		return nil, err
	}
	off := false
	settings := []v1alpha1.AddonSetting{{Name: addons.NameGatewayAPI, Enabled: &off}}
	all, err := addons.Objects(addons.Params{
		Version: h.binaries.Version.String(), Server: fmt.Sprintf("%s:%d", handHost, h.port), CA: ca,
		PodCIDR: netip.MustParsePrefix("10.244.0.0/16"), ServiceCIDR: netip.MustParsePrefix("10.96.0.0/16"),
		DNS: netip.MustParseAddr("10.96.0.10"), DNSDomain: "cluster.local", ClusterName: "hand", CNI: v1alpha1.CNINone,
		Addons: addons.Choose(v1alpha1.CNINone, settings),
		Images: addons.Images{CoreDNS: "not-used", KubeProxy: "not-used", MetricsServer: "not-used", NodeAgent: "not-used", Traefik: imageNamed(h.images, "traefik")},
	})
	return slices.DeleteFunc(all, func(o client.Object) bool { return o.GetLabels()[v1alpha1.LabelAddon] != "traefik" }), err
}

// routes are those to the pods of the other node, once the controller manager has given each node its range.
func (h *handIngress) routes(ctx context.Context, c client.Client) error {
	list := &corev1.NodeList{}
	err := await(ctx, func() (bool, error) {
		err := c.List(ctx, list)
		without := slices.ContainsFunc(list.Items, func(n corev1.Node) bool { return n.Spec.PodCIDR == "" })
		return err == nil && len(list.Items) == benchNodes && !without, err
	})
	if err != nil {
		return err
	}
	for _, from := range h.nodes {
		for _, to := range h.nodes {
			if from == to {
				continue
			}
			i := slices.IndexFunc(list.Items, func(n corev1.Node) bool { return n.Name == to.name })
			cmd := from.within("ip", "route", "add", list.Items[i].Spec.PodCIDR, "via", to.address)
			if err := command(ctx, cmd.Path, cmd.Args[1:]...); err != nil {
				return err
			}
		}
	}
	return nil
}

// address is the port of the first node that kube-proxy answers at.
func (h *handIngress) address(ctx context.Context, c client.Client) (string, error) {
	s := &corev1.Service{}
	err := c.Get(ctx, client.ObjectKeyFromObject(h.deployment()), s)
	if err != nil || len(s.Spec.Ports) == 0 {
		return "", client.IgnoreNotFound(err)
	}
	return "http://" + net.JoinHostPort(h.nodes[0].address, strconv.Itoa(int(s.Spec.Ports[0].NodePort))) + "/", nil
}

// deployment has the name of all objects of the controller.
func (h *handIngress) deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "traefik"}}
}
