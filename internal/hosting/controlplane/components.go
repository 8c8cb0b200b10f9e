package controlplane

import (
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// Names of the components, which are the names of upstream's programs.
const (
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
)

// Names of the ports that a control plane reserves.
const (
	PortAPI               = "api"
	PortControllerManager = "controller-manager"
	PortScheduler         = "scheduler"
)

// Ports returns the names of all ports that a control plane reserves.
func Ports() []string { return []string{PortAPI, PortControllerManager, PortScheduler} }

// Description is everything that the components of one control plane depend on.
type Description struct {
	// ID names the workload: the control plane's UID.
	ID string
	// Network is the cluster's addressing.
	Network v1alpha1.Network
	// ServerName is the API server's host name at the gateway. Issuer and audience of the
	// cluster's service accounts come from it, so it must belong to this cluster alone.
	ServerName string
	// AdvertiseAddress is how nodes and pods reach the API server. Upstream refuses loopback.
	AdvertiseAddress netip.Addr
	// Place is what the runner reserved under the names of Ports.
	Place supervise.Place
	// Keys are the keys and certificates of pki.ControlPlane.
	Keys pki.Bundle
	// Cluster is the UID of the cluster whose nodes and pods the API server calls through an egress; empty for a
	// plane without nodes.
	Cluster string
	// EncryptionKey encrypts Secrets at rest: 32 bytes.
	EncryptionKey []byte
	// Store is where the keyspace is.
	Store StoreAccess
	// Issuer signs credentials that the API server takes; nil for a plane that takes none but its own.
	Issuer *TokenIssuer
	// AuditLog is the file in which the API server writes what is changed by anybody but Trusted; empty for none.
	AuditLog string
	// Trusted are the users whose changes are written down by themselves, elsewhere.
	Trusted []string
	// Program returns the path of a component's program.
	Program func(component string) string
	// Controllers are those that the controller manager runs, in upstream's notation; empty for
	// what a whole cluster needs.
	Controllers []string
	// WithoutScheduler is for a plane on which no pod will ever run.
	WithoutScheduler bool
}

// StoreAccess is where a keyspace is and how it is told apart.
type StoreAccess struct {
	Endpoints []string
	CA        []byte // PEM, of the servers' certificates
	Keyspace  datastore.Keyspace
}

// Describe says what runs for a control plane: files, programs, arguments and probes. It is pure:
// the same description gives the same workload.
func Describe(d Description) (supervise.Workload, error) {
	files, err := d.files()
	if err != nil {
		return supervise.Workload{}, err
	}
	w := supervise.Workload{ID: d.ID, Files: files, Components: []supervise.Component{d.apiServer(), d.controllerManager()}}
	if !d.WithoutScheduler {
		w.Components = append(w.Components, d.scheduler())
	}
	return w, nil
}

func (d Description) apiServer() supervise.Component {
	issuer := "https://" + d.ServerName
	c := supervise.Component{
		Name: APIServer,
		Path: d.Program(APIServer),
		Args: []string{
			"--etcd-servers=" + strings.Join(d.Store.Endpoints, ","),
			"--etcd-cafile=" + d.path(fileStoreCA),
			"--etcd-certfile=" + d.path("etcd-client.crt"),
			"--etcd-keyfile=" + d.path("etcd-client.key"),
			"--etcd-prefix=" + d.Store.Keyspace.Prefix(),
			// A user with a prefix may not compact: the store compacts for all. An API server that does not compact
			// hears nothing of it either, and would go on to answer from its cache what upstream says has expired.
			"--etcd-compaction-interval=0",
			"--feature-gates=ListFromCacheSnapshot=false",
			"--encryption-provider-config=" + d.path(fileEncryption),

			"--bind-address=" + d.Place.Addr.String(),
			"--secure-port=" + d.port(PortAPI),
			"--advertise-address=" + d.AdvertiseAddress.String(),
			"--tls-cert-file=" + d.path("apiserver.crt"),
			"--tls-private-key-file=" + d.path("apiserver.key"),
			"--client-ca-file=" + d.path("ca.crt"),
			"--authentication-config=" + d.path(fileAuthentication),
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			"--enable-bootstrap-token-auth=true",
			"--allow-privileged=true",
			"--profiling=false",

			"--requestheader-client-ca-file=" + d.path("front-proxy-ca.crt"),
			"--requestheader-allowed-names=front-proxy-client",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-username-headers=X-Remote-User",
			"--proxy-client-cert-file=" + d.path("front-proxy-client.crt"),
			"--proxy-client-key-file=" + d.path("front-proxy-client.key"),

			"--kubelet-client-certificate=" + d.path("apiserver-kubelet-client.crt"),
			"--kubelet-client-key=" + d.path("apiserver-kubelet-client.key"),
			"--kubelet-preferred-address-types=InternalIP,Hostname",
			// Kubelets serve with certificates of the cluster, which KQueen approves machine by machine.
			"--kubelet-certificate-authority=" + d.path("ca.crt"),

			"--service-account-issuer=" + issuer,
			"--api-audiences=" + issuer,
			"--service-account-key-file=" + d.path("sa.pub"),
			"--service-account-signing-key-file=" + d.path("sa.key"),
			"--service-cluster-ip-range=" + d.Network.ServiceCIDR,
		},
		RestartOn: []string{"sa.key", "sa.pub", fileStoreCA, fileEncryption},
		Ports:     []string{PortAPI},
		Heavy:     true,
		// An open watch keeps it from ending by itself. Whatever it has acknowledged is in the store.
		StopGrace: 3 * time.Second,
		Probe:     &supervise.Probe{URL: LocalServer(d.Place) + "/readyz", CAFile: "ca.crt"},
	}
	if d.Cluster != "" {
		c.Args = append(c.Args,
			"--egress-selector-config-file="+d.path(fileEgress),
			// Pods that serve webhooks and APIs are called themselves, whether a node knows their Service or not.
			"--enable-aggregator-routing=true",
		)
		c.RestartOn = append(c.RestartOn, fileEgress)
	}
	if d.AuditLog != "" {
		c.Args = append(c.Args, "--audit-policy-file="+d.path(fileAuditPolicy), "--audit-log-path="+d.AuditLog, "--audit-log-maxsize="+auditLogSize)
		c.RestartOn = append(c.RestartOn, fileAuditPolicy)
	}
	return c
}

func (d Description) controllerManager() supervise.Component {
	controllers := d.Controllers
	if len(controllers) == 0 {
		controllers = []string{"*", "bootstrapsigner", "tokencleaner"}
	}
	args := append(d.managerArgs(PortControllerManager, fileControllerManager),
		"--controllers="+strings.Join(controllers, ","),
		"--cluster-name="+d.ID,
		"--cluster-signing-cert-file="+d.path("ca.crt"),
		"--cluster-signing-key-file="+d.path("ca.key"),
		"--root-ca-file="+d.path("ca.crt"),
		"--service-account-private-key-file="+d.path("sa.key"),
		"--use-service-account-credentials=true",
		// Before any controller begins, each gets a token of its own: some hundred calls, which at
		// upstream's 20 a second take five seconds in which a new cluster does nothing.
		"--kube-api-qps=100",
		"--kube-api-burst=200",
		"--allocate-node-cidrs=true",
		"--cluster-cidr="+d.Network.PodCIDR,
		"--service-cluster-ip-range="+d.Network.ServiceCIDR,
	)
	return supervise.Component{
		Name:      ControllerManager,
		Path:      d.Program(ControllerManager),
		Args:      args,
		After:     []string{APIServer},
		RestartOn: []string{fileControllerManager, "ca.crt", "ca.key", "sa.key"},
		Ports:     []string{PortControllerManager},
		Probe:     d.probe(PortControllerManager, "/healthz"),
	}
}

func (d Description) scheduler() supervise.Component {
	return supervise.Component{
		Name:      Scheduler,
		Path:      d.Program(Scheduler),
		Args:      d.managerArgs(PortScheduler, fileScheduler),
		After:     []string{APIServer},
		RestartOn: []string{fileScheduler},
		Ports:     []string{PortScheduler},
		Probe:     d.probe(PortScheduler, "/healthz"),
	}
}

// managerArgs are what controller manager and scheduler share. Their serving certificate is the API
// server's: it says 127.0.0.1, and they are asked from this host only.
func (d Description) managerArgs(port, kubeconfig string) []string {
	conf := d.path(kubeconfig)
	return []string{
		"--kubeconfig=" + conf,
		"--authentication-kubeconfig=" + conf,
		"--authorization-kubeconfig=" + conf,
		"--bind-address=127.0.0.1",
		"--secure-port=" + d.port(port),
		"--tls-cert-file=" + d.path("apiserver.crt"),
		"--tls-private-key-file=" + d.path("apiserver.key"),
		// One replica: nobody to elect, and no lease to write every two seconds.
		"--leader-elect=false",
		"--profiling=false",
	}
}

func (d Description) probe(port, path string) *supervise.Probe {
	return &supervise.Probe{URL: "https://" + net.JoinHostPort("127.0.0.1", d.port(port)) + path, CAFile: "ca.crt"}
}

func (d Description) path(file string) string { return filepath.Join(d.Place.Dir, file) }

func (d Description) port(name string) string { return strconv.Itoa(d.Place.Port[name]) }

// LocalServer is the URL of the API server for programs of this host: it listens on one address, or on all.
func LocalServer(place supervise.Place) string {
	return "https://" + net.JoinHostPort(loopback(place.Addr).String(), strconv.Itoa(place.Port[PortAPI]))
}
