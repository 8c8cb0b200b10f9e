package controlplane

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/platform/ciphers"
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

// apiServerLeaves is how long an API server goes on with the requests and watches that it has, when another one has its place. Its clients
// are told at once to open new connections; what they watch there ends with it, and they watch on from where they were.
const apiServerLeaves = 15 * time.Second

// Ports returns all ports that a control plane reserves. Nodes, pods and the gateway call the API server alone.
func Ports() []runner.Port {
	return []runner.Port{{Name: PortAPI, Public: true}, {Name: PortControllerManager}, {Name: PortScheduler}}
}

// Description is everything that the components of one control plane depend on.
type Description struct {
	// ID names the workload: the control plane's UID.
	ID string
	// Name is NAMESPACE/NAME of the control plane, and ClusterName ORGANIZATION/NAME of its cluster: users know it by these. They are empty for
	// KQueen's own plane.
	Name, ClusterName string
	// Network is the cluster's addressing.
	Network v1alpha1.Network
	// ServerName is the API server's host name at the gateway. Issuer and audience of the
	// cluster's service accounts come from it, so it must belong to this cluster alone.
	ServerName string
	// AdvertiseAddress is how nodes and pods reach the API server. Upstream refuses loopback.
	AdvertiseAddress netip.Addr
	// Keys are the keys and certificates of pki.ControlPlane.
	Keys pki.Bundle
	// NextSigns says that what the cluster issues is signed by those of the keys that take the place of others.
	NextSigns bool
	// Cluster is the UID of the cluster whose nodes and pods the API server calls through an egress, and nothing else;
	// empty for a plane whose users are trusted with what the host can reach.
	Cluster string
	// Kubelets are the addresses at which it may call kubelets that are not on this host.
	Kubelets []netip.Addr
	// Allowed is what administrators allow it to call beside its cluster, and Closed what that does not open.
	Allowed []egress.Destination
	Closed  []netip.Prefix
	// EncryptionKeys read Secrets at rest, and the first one writes them.
	EncryptionKeys []EncryptionKey
	// Store is where the keyspace is.
	Store StoreAccess
	// Issuer signs credentials that the API server takes; nil for a plane that takes none but its own.
	Issuer *TokenIssuer
	// Webhooks is how the API server proves to admission webhooks who it is; nil for one that does not.
	Webhooks *ClientCertificate
	// PodSecurity is the level of the Pod Security Standards that pods are held to; empty: privileged, which bounds nothing.
	PodSecurity string
	// AuditLog is the file in which the API server writes what is changed by any caller but Trusted; empty for none.
	AuditLog string
	// ClusterAudit is what the API server writes down for the users of the cluster, in the folder AuditDir of its own: one of
	// v1alpha1.AuditMetadata and AuditRequestResponse. Nothing else, and nothing where AuditLog is set.
	ClusterAudit string
	// Trusted are the users whose changes are written down by themselves, elsewhere.
	Trusted []string
	// Size is how much the components may take; empty for medium.
	Size v1alpha1.ControlPlaneSize
	// Own says that it is KQueen's own plane, on which all tenants depend: it has no size, and goes last when memory runs
	// out.
	Own bool
	// Version is that of the API server, such as v1.36.3.
	Version string
	// EmulatedVersion is the older minor that it behaves as, such as v1.35; empty for that of Version.
	EmulatedVersion string
	// ManagerVersion is that of controller manager and scheduler, which must not be newer than the API server that they call; empty for
	// Version.
	ManagerVersion string
	// Controllers are those that the controller manager runs, in upstream's notation; empty for
	// what a whole cluster needs.
	Controllers []string
	// Copy says that it is a copy of another control plane's state: only an API server runs, which calls nothing.
	Copy bool
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
func Describe(d Description) (runner.Workload, error) {
	files, err := d.files()
	if err != nil {
		return runner.Workload{}, err
	}
	w := runner.Workload{
		ID: d.ID, Name: d.Name, Cluster: d.ClusterName, Files: files, Ports: Ports(), Components: []runner.Component{d.apiServer()},
		Unprivileged: true, Reaches: d.reaches(), Essential: d.Own,
	}
	if !d.Copy {
		w.Components = append(w.Components, d.controllerManager())
	}
	if !d.Copy && !d.WithoutScheduler {
		w.Components = append(w.Components, d.scheduler())
	}
	return w, nil
}

// reaches are the addresses to which the components connect beside each other: the data store, and where the issuer's keys
// are. Their other calls go through the egress. It is nil, for any, where there is none, and when a host is named, whose
// addresses change.
func (d Description) reaches() []netip.AddrPort {
	if d.Cluster == "" {
		return nil
	}
	urls := slices.Clone(d.Store.Endpoints)
	if d.Issuer != nil {
		urls = append(urls, d.Issuer.DiscoveryURL)
	}
	var out []netip.AddrPort
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			return nil
		}
		to, err := netip.ParseAddrPort(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")))
		if err != nil {
			return nil
		}
		out = append(out, to)
	}
	return out
}

func (d Description) apiServer() runner.Component {
	issuer, size := "https://"+d.ServerName, d.size()
	c := runner.Component{
		Name:    APIServer,
		Program: d.program(APIServer),
		Args: []string{
			"--etcd-servers=" + strings.Join(d.Store.Endpoints, ","),
			"--etcd-cafile=" + runner.FileRef(fileStoreCA),
			"--etcd-certfile=" + runner.FileRef("etcd-client.crt"),
			"--etcd-keyfile=" + runner.FileRef("etcd-client.key"),
			"--etcd-prefix=" + d.Store.Keyspace.Prefix(),
			// A user with a prefix may not compact: the store compacts for all. An API server that does not compact
			// hears nothing of it either, and would go on to answer from its cache what upstream says has expired.
			"--etcd-compaction-interval=0",
			"--feature-gates=ListFromCacheSnapshot=false",
			"--encryption-provider-config=" + runner.FileRef(fileEncryption),

			"--bind-address=" + runner.BindRef(PortAPI),
			"--secure-port=" + runner.PortRef(PortAPI),
			"--advertise-address=" + d.AdvertiseAddress.String(),
			"--tls-cert-file=" + runner.FileRef("apiserver.crt"),
			"--tls-private-key-file=" + runner.FileRef("apiserver.key"),
			tlsMinVersion, tlsSuites(),
			"--client-ca-file=" + runner.FileRef(d.trustFile()),
			"--authentication-config=" + runner.FileRef(fileAuthentication),
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=" + strings.Join(d.admissionPlugins(), ","),
			"--enable-bootstrap-token-auth=" + strconv.FormatBool(!d.Copy),
			"--allow-privileged=true",
			"--profiling=false",

			"--requestheader-client-ca-file=" + runner.FileRef("front-proxy-ca.crt"),
			"--requestheader-allowed-names=front-proxy-client",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-username-headers=X-Remote-User",
			"--proxy-client-cert-file=" + runner.FileRef("front-proxy-client.crt"),
			"--proxy-client-key-file=" + runner.FileRef("front-proxy-client.key"),

			"--kubelet-client-certificate=" + runner.FileRef(d.kubeletClient()+".crt"),
			"--kubelet-client-key=" + runner.FileRef(d.kubeletClient()+".key"),
			"--kubelet-preferred-address-types=InternalIP,Hostname",
			// Kubelets serve with certificates of the cluster, which KQueen approves machine by machine.
			"--kubelet-certificate-authority=" + runner.FileRef(d.trustFile()),

			"--service-account-issuer=" + issuer,
			"--api-audiences=" + issuer,
			"--service-account-key-file=" + runner.FileRef("sa.pub"),
			"--service-account-signing-key-file=" + runner.FileRef("sa.key"),
			"--service-cluster-ip-range=" + d.Network.ServiceCIDR, endsOnTime,
		},
		RestartOn: append([]string{"sa.key", "sa.pub", fileStoreCA, fileEncryption}, d.restartOnTrust()...),
		Env:       memoryEnv(size.apiServer),
		Ports:     []string{PortAPI},
		Heavy:     true,
		Resources: size.apiServer, LatencySensitive: true,
		// An open watch keeps it from ending by itself. Whatever it has acknowledged is in the store.
		StopGrace: 3 * time.Second,
		Probe:     d.probe(PortAPI, "/readyz"),
		HandOver: &runner.HandOver{
			Port: PortAPI, Within: apiServerLeaves,
			Args: []string{"--handover-folder=" + runner.HandoverRef(PortAPI), "--own-address=" + runner.OwnRef(PortAPI)},
		},
	}
	c.Args = append(append(c.Args, size.requestLimits()...), d.emulation(d.Version)...)
	if d.Cluster != "" {
		c.Args = append(c.Args,
			"--egress-selector-config-file="+runner.FileRef(fileEgress),
			// Pods that serve webhooks and APIs are called themselves, whether a node knows their Service or not.
			"--enable-aggregator-routing=true",
		)
		c.RestartOn = append(c.RestartOn, fileEgress)
	}
	if d.Copy {
		c.Args = append(c.Args, withoutWebhooks)
	}
	d.configureAdmission(&c)
	d.configureAudit(&c)
	return c
}

func (d Description) controllerManager() runner.Component {
	controllers := d.Controllers
	if len(controllers) == 0 {
		controllers = []string{"*", "bootstrapsigner", "tokencleaner"}
	}
	args := append(d.managerArgs(PortControllerManager, fileControllerManager),
		"--controllers="+strings.Join(controllers, ","),
		"--cluster-name="+d.ID,
		"--cluster-signing-cert-file="+runner.FileRef("ca.crt"),
		"--cluster-signing-key-file="+runner.FileRef("ca.key"),
		"--root-ca-file="+runner.FileRef(d.trustFile()),
		"--service-account-private-key-file="+runner.FileRef("sa.key"),
		"--use-service-account-credentials=true",
		terminatedPods,
		// Before any controller begins, each gets a token of its own: some hundred calls, which at
		// upstream's 20 a second take five seconds in which a new cluster does nothing.
		"--kube-api-qps=100",
		"--kube-api-burst=200",
		"--allocate-node-cidrs=true",
		"--cluster-cidr="+d.Network.PodCIDR,
		"--service-cluster-ip-range="+d.Network.ServiceCIDR,
	)
	if life := pki.SignFor(); life > 0 {
		args = append(args, "--cluster-signing-duration="+life.String())
	}
	return runner.Component{
		Name:      ControllerManager,
		Program:   d.manager(ControllerManager),
		Args:      args,
		Env:       memoryEnv(d.size().controllerManager),
		After:     []string{APIServer},
		RestartOn: append([]string{fileControllerManager, "ca.crt", "ca.key", "sa.key"}, d.restartOnTrust()...),
		Ports:     []string{PortControllerManager},
		Alone:     true,
		Resources: d.size().controllerManager,
		Probe:     d.probe(PortControllerManager, "/healthz"),
	}
}

func (d Description) scheduler() runner.Component {
	return runner.Component{
		Name:      Scheduler,
		Program:   d.manager(Scheduler),
		Args:      d.managerArgs(PortScheduler, fileScheduler),
		Env:       memoryEnv(d.size().scheduler),
		After:     []string{APIServer},
		RestartOn: []string{fileScheduler},
		Ports:     []string{PortScheduler},
		Alone:     true,
		Resources: d.size().scheduler,
		Probe:     d.probe(PortScheduler, "/healthz"),
	}
}

// managerArgs are what controller manager and scheduler share. Their serving certificate is the API
// server's: it says 127.0.0.1, and nothing but their probes calls them.
func (d Description) managerArgs(port, kubeconfig string) []string {
	conf := runner.FileRef(kubeconfig)
	return append([]string{
		"--kubeconfig=" + conf,
		"--authentication-kubeconfig=" + conf,
		"--authorization-kubeconfig=" + conf,
		"--bind-address=" + runner.BindRef(port),
		"--secure-port=" + runner.PortRef(port),
		"--tls-cert-file=" + runner.FileRef("apiserver.crt"),
		"--tls-private-key-file=" + runner.FileRef("apiserver.key"),
		tlsMinVersion, tlsSuites(),
		// One replica, alone: there is none to elect, and no lease to write every two seconds.
		"--leader-elect=false",
		"--profiling=false",
	}, d.emulation(cmp.Or(d.ManagerVersion, d.Version))...)
}

const tlsMinVersion = "--tls-min-version=" + ciphers.MinVersion

func tlsSuites() string { return "--tls-cipher-suites=" + strings.Join(ciphers.Names(), ",") }

func (d Description) program(component string) runner.Program {
	return runner.Program{Name: component, Version: d.Version}
}

func (d Description) manager(component string) runner.Program {
	return runner.Program{Name: component, Version: cmp.Or(d.ManagerVersion, d.Version)}
}

func (d Description) probe(port, path string) *runner.Probe {
	return &runner.Probe{Port: port, Path: path, TLS: &runner.TLS{CA: d.trustFile()}}
}

// LocalServer is the URL at which KQueen itself reaches the API server.
func LocalServer(place runner.Place) string { return "https://" + place[PortAPI].Inside.String() }
