package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/freeport"
)

// hand is a cluster that is made step by step with the programs that KQueen uses: what "kubeadm init" does, as
// far as it can be done in namespaces of one host, and two nodes.
type hand struct {
	dir      string
	program  string // kqueen, which is etcd under that name
	binaries release.Binaries
	parts    release.NodeParts
	port     int    // of the API server, on the bridge
	store    string // URL of etcd

	mu      sync.Mutex
	started []*exec.Cmd
	nodes   []*handNode
}

// The network of the nodes on this host.
const (
	handBridge = "kqbench0"
	handHost   = "10.222.0.1"
)

// byHand measures from the first certificate until the application answers, and removes it all.
func byHand(ctx context.Context, inst *installation, parts release.NodeParts, addons release.AddonImages) (t took, err error) {
	dir, err := os.MkdirTemp(inst.dir, "hand-")
	if err != nil {
		return t, err
	}
	port, err := freeport.Take()
	if err != nil {
		return t, err
	}
	h := &hand{dir: dir, program: inst.program, binaries: inst.binaries, parts: parts, port: port}
	defer func() { err = errors.Join(err, h.remove()) }()
	begin := time.Now()
	config, err := h.plane(ctx)
	if err != nil {
		return t, fmt.Errorf("control plane: %w", err)
	}
	nodes, inner := errgroup.WithContext(ctx)
	for n := range benchNodes {
		nodes.Go(func() error { return h.node(inner, n) })
	}
	if err := nodes.Wait(); err != nil {
		return t, fmt.Errorf("nodes: %w", err)
	}
	entry := &handIngress{hand: h, images: addons.Images}
	later, inner := errgroup.WithContext(ctx)
	later.Go(func() error { return entry.install(inner, config) })
	later.Go(func() (err error) {
		t, err = application(inner, begin, config, imageNamed(parts.Images(), "busybox"), entry.address)
		return err
	})
	if err := later.Wait(); err != nil {
		return t, err
	}
	return t, removePods(ctx, config, entry.deployment())
}

// plane makes the bridge, certificates, kubeconfigs, and starts etcd and the three components.
func (h *hand) plane(ctx context.Context) (*rest.Config, error) {
	// One that was killed leaves its bridge; there is none otherwise, which ip calls an error.
	_ = command(ctx, "ip", "link", "delete", handBridge)
	for _, args := range [][]string{
		{"link", "add", handBridge, "type", "bridge"},
		{"addr", "add", handHost + "/24", "dev", handBridge},
		{"link", "set", handBridge, "up"},
	} {
		if err := command(ctx, "ip", args...); err != nil {
			return nil, err
		}
	}
	if err := h.kubeadm(ctx); err != nil {
		return nil, err
	}
	etcd, err := h.etcd()
	if err != nil {
		return nil, err
	}
	for _, run := range append([]*exec.Cmd{etcd}, h.components()...) {
		if err := h.start(run); err != nil {
			return nil, err
		}
		if run.Path == h.binaries.Path("kube-apiserver") {
			if err := h.serving(ctx); err != nil {
				return nil, err
			}
		}
	}
	return clientcmd.BuildConfigFromFlags("", h.file("admin.conf"))
}

// kubeadm makes the certificates and kubeconfigs that "kubeadm init" makes.
func (h *hand) kubeadm(ctx context.Context) error {
	config := fmt.Sprintf(`apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: %s, bindPort: %d}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: %s
certificatesDir: %s
networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/16}
`, handHost, h.port, h.binaries.Version, h.file("pki"))
	if err := os.WriteFile(h.file("kubeadm.yaml"), []byte(config), 0o600); err != nil {
		return err
	}
	phases := [][]string{{"certs", "all"}}
	for _, name := range []string{"admin", "super-admin", "controller-manager", "scheduler"} {
		phases = append(phases, []string{"kubeconfig", name, "--kubeconfig-dir", h.dir})
	}
	for _, phase := range phases {
		args := append([]string{"init", "phase"}, phase...)
		if err := command(ctx, h.binaries.Path("kubeadm"), append(args, "--config", h.file("kubeadm.yaml"))...); err != nil {
			return err
		}
	}
	return os.Rename(h.file("super-admin.conf"), h.file("admin.conf"))
}

func (h *hand) etcd() (*exec.Cmd, error) {
	client, err := freeport.Take()
	if err != nil {
		return nil, err
	}
	peer, err := freeport.Take()
	if err != nil {
		return nil, err
	}
	url := func(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }
	h.store = url(client)
	return exec.Command(h.program, "etcd", "--data-dir="+h.file("etcd"), "--listen-client-urls="+url(client), "--advertise-client-urls="+url(client),
		"--listen-peer-urls="+url(peer), "--initial-advertise-peer-urls="+url(peer), "--initial-cluster=default="+url(peer)), nil
}

func (h *hand) components() []*exec.Cmd {
	pki := func(name string) string { return h.file("pki/" + name) }
	server := exec.Command(h.binaries.Path("kube-apiserver"), "--etcd-servers="+h.store,
		"--bind-address="+handHost, "--advertise-address="+handHost, "--secure-port="+strconv.Itoa(h.port),
		"--tls-cert-file="+pki("apiserver.crt"), "--tls-private-key-file="+pki("apiserver.key"), "--client-ca-file="+pki("ca.crt"),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--enable-bootstrap-token-auth=true", "--allow-privileged=true",
		"--kubelet-client-certificate="+pki("apiserver-kubelet-client.crt"), "--kubelet-client-key="+pki("apiserver-kubelet-client.key"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local", "--service-account-key-file="+pki("sa.pub"),
		"--service-account-signing-key-file="+pki("sa.key"), "--service-cluster-ip-range=10.96.0.0/16")
	manager := exec.Command(h.binaries.Path("kube-controller-manager"), "--kubeconfig="+h.file("controller-manager.conf"),
		"--bind-address=127.0.0.1", "--secure-port=0", "--leader-elect=true", "--allocate-node-cidrs=true", "--cluster-cidr=10.244.0.0/16",
		"--service-cluster-ip-range=10.96.0.0/16", "--use-service-account-credentials=true", "--controllers=*,bootstrapsigner,tokencleaner",
		"--cluster-signing-cert-file="+pki("ca.crt"), "--cluster-signing-key-file="+pki("ca.key"), "--root-ca-file="+pki("ca.crt"),
		"--service-account-private-key-file="+pki("sa.key"))
	scheduler := exec.Command(h.binaries.Path("kube-scheduler"), "--kubeconfig="+h.file("scheduler.conf"),
		"--bind-address=127.0.0.1", "--secure-port=0", "--leader-elect=true")
	return []*exec.Cmd{server, manager, scheduler}
}

// serving waits for /readyz.
func (h *hand) serving(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", h.file("admin.conf"))
	if err != nil {
		return err
	}
	caller, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	return awaitOK(ctx, caller, config.Host+"/readyz")
}

func (h *hand) file(name string) string { return filepath.Join(h.dir, name) }

// start starts a program with a log of its own.
func (h *hand) start(cmd *exec.Cmd) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	log, err := os.Create(h.file(fmt.Sprintf("%02d.log", len(h.started))))
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	err = errors.Join(cmd.Start(), log.Close())
	if err == nil {
		h.started = append(h.started, cmd)
	}
	return err
}

// remove kills everything, the last first, which takes the nodes' namespaces with it.
func (h *hand) remove() error {
	for _, cmd := range slices.Backward(h.started) {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // it was killed, which is all that it would say
	}
	// The kernel takes the links away some time after their namespaces, and the next run wants their names.
	for n := range benchNodes {
		_ = exec.Command("ip", "link", "del", linkOf(nodeName(n))).Run() // it may be gone
	}
	return errors.Join(exec.Command("ip", "link", "del", handBridge).Run(), os.RemoveAll(h.dir))
}

// command runs a program that ends.
func command(ctx context.Context, program string, args ...string) error {
	if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %.500s", program, strings.Join(args, " "), err, out)
	}
	return nil
}
