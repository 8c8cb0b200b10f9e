//go:build linux

package app

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	apirest "kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/ciphers"
	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/idempotency"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/server"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/socket"
	"kqueen.io/kqueen/internal/server/status"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/audit"
	"kqueen.io/kqueen/internal/tenancy/issuer"
)

const (
	// firstAPIPort is the port of the REST API unless the operator chooses another or it is taken.
	firstAPIPort = 8443
	// maxConnections bounds how many connections are open at once, maxConnectionsOfOne how many of them one address has.
	maxConnections      = 2048
	maxConnectionsOfOne = 512
	// maxAgents bounds how many agents of clusters are connected beside.
	maxAgents = 16384
	// sweepInterval is the time between two looks for sessions and tokens that have ended, and actions that were interrupted.
	sweepInterval = 5 * time.Minute
)

// apiServer is everything behind the port of the REST API.
type apiServer struct {
	db      *database.DB
	access  *access.Service
	audit   *audit.Log
	answers *idempotency.Store
	// inventory is what runs in clusters; nil where that is not kept. inventoryDB is its file, if it has one.
	// collected is what parts of this process measure; nil where none does.
	inventory   *inventory.Store
	inventoryDB *database.DB
	collected   *prometheus.Registry
	// existed says that the database is not new: one that is gone is not made again.
	existed bool
	// closed says why nothing is answered that needs the database; nil when it is there.
	closed atomic.Pointer[error]
	// stores are the data stores of control planes.
	stores *controlplane.DataStores
	// ended are the ids of what credentials for a cluster were got with that has ended since, by audience.
	ended    func(audience string) []string
	server   *server.Server
	issuer   *issuer.Issuer
	listener net.Listener
	// local is the socket of the owner of the machine.
	local net.Listener
	// authority signs the certificate, in PEM. Clients pin it.
	authority []byte
	// due is when the issuer's keys are to be renewed.
	due atomic.Pointer[time.Time]
	// certificate is renewed while the server runs.
	certificate atomic.Pointer[tls.Certificate]
	log         *slog.Logger
}

// openAPI opens the port, the database, and the issuer whose keys tenants' API servers ask for. The port answers when
// serveAPI is called.
func (a *App) openAPI(ctx context.Context) (*apiServer, error) {
	d := &apiServer{log: a.Log.With("part", "api")}
	err := a.renewAPIKeys(d)
	if err == nil {
		err = d.openDatabase(ctx, a)
	}
	if err != nil {
		return nil, err
	}
	d.openInventory(ctx, a)
	if err = d.migrate(ctx, a); err == nil {
		d.listener, err = a.open(port{"API", "--api-port", a.APIPort, firstAPIPort}, &a.settings.APIPort)
	}
	if err == nil {
		d.local, err = status.OnSocket(a.Dir, apirest.LocalSocket, func(path string) (net.Listener, error) { return socket.Listen(path, d.log) })
	}
	if err == nil {
		err = a.openIssuer(d)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// close closes what is open.
func (d *apiServer) close() error {
	err := d.db.Close()
	if d.inventoryDB != nil {
		err = errors.Join(err, d.inventoryDB.Close())
	}
	for _, l := range []net.Listener{d.listener, d.local} {
		if l == nil {
			continue
		}
		if closed := l.Close(); !errors.Is(closed, net.ErrClosed) {
			err = errors.Join(err, closed)
		}
	}
	return err
}

// assemble creates the server, once there is an admin plane for it to call.
func (a *App) assemble(
	ctx context.Context, d *apiServer, config *rest.Config, mgr manager.Manager, what knows,
) error {
	cursors, err := replaceableKey(a, "cursors")
	if err != nil {
		return fmt.Errorf("key of the cursors: %w", err)
	}
	if config, err = kube.WhenReady(config); err != nil {
		return err
	}
	plane, err := kube.Impersonate(config)
	if err != nil {
		return err
	}
	own, err := kube.Connect(config, mgr.GetScheme())
	if err != nil {
		return err
	}
	if err := server.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	// Lists are read from these; without a look at them first, the first list would wait for the cache.
	for _, kind := range server.Kinds() {
		if _, err := mgr.GetCache().GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("follow %T: %w", kind, err)
		}
	}
	measures, err := d.measured(a.agents)
	if err != nil {
		return err
	}
	d.server, err = server.New(server.Config{
		Plane: plane, Own: own, Cache: mgr.GetClient(), Access: d.access, Audit: d.audit, Limits: what.limits, Addons: what.prepares,
		Adopted: what.clusters, Agents: server.Agents{Sessions: a.agents, Pin: d.pin, Image: a.AgentImage}, Lead: lead(a.connections.Load()), Ended: d.ended, Address: func() (string, []byte) { return a.apiAddress(), d.authority },
		Issuer: d.issuer, Answers: d.answers,
		ClusterLog: func(_ context.Context, plane types.UID) (*os.Root, error) {
			return a.supervisor.Folder(string(plane), controlplane.AuditDir)
		},
		Key: cursors, Version: a.Version, Log: d.log, Now: time.Now, Ready: readiness(&a.serving), Metrics: measures,
		Inventory: d.asked(), Reach: reach(a.connections.Load()), DryRun: dryRun(mgr, upgrades(a.connections.Load(), d.stores, d.inventory)),
	})
	return err
}

// pin is the SHA-256 of the public key of the present certificate, in base64.
func (d *apiServer) pin() string {
	sum := sha256.Sum256(d.certificate.Load().Leaf.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// readiness says why an installation does not serve all callers; nil when it does.
func readiness(serving *atomic.Bool) server.Readiness {
	return func(context.Context) error {
		if !serving.Load() {
			return errors.New("KQueen starts; kqueen status says how far it is")
		}
		return nil
	}
}

// serveAPI answers until ctx ends.
func (a *App) serveAPI(ctx context.Context, d *apiServer) error {
	s := &http.Server{
		Handler: d.whole(d.server), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10, ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return chain.WithConnection(socket.With(ctx, c), c)
		},
		// A server sets up HTTP/2 once, for whichever listener comes first. Without "h2" here, the socket would leave it out
		// for both, and TLS would still negotiate it.
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: ciphers.Suites(), NextProtos: []string{"h2", "http/1.1"}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return d.certificate.Load(), nil
		}},
	}
	stop := context.AfterFunc(ctx, func() {
		d.server.Close()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if s.Shutdown(end) != nil {
			_ = s.Close()
		}
	})
	defer stop()
	go d.keep(ctx, func() error { return a.renewAPIKeys(d) }, func() error { return a.renewIssuer(d) })
	go d.mend(ctx, a)
	limited := chain.LimitConnections(d.listener, maxConnections, maxConnectionsOfOne)
	group := errgroup.Group{}
	for name, serve := range map[string]func() error{
		"API":               func() error { return s.ServeTLS(limited, "", "") },
		"API on its socket": func() error { return s.Serve(d.local) },
	} {
		group.Go(func() error {
			if err := serve(); !errors.Is(err, http.ErrServerClosed) {
				return errors.Join(fmt.Errorf("serve the %s: %w", name, err), s.Close())
			}
			return nil
		})
	}
	return group.Wait()
}

// keep renews and sweeps.
func (d *apiServer) keep(ctx context.Context, renewKeys, renewIssuer func() error) {
	for {
		wait := time.NewTimer(min(pki.LookAgain(sweepInterval), max(time.Until(*d.due.Load()), time.Second)))
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
			if err := errors.Join(renewKeys(), renewIssuer(), d.access.Sweep(ctx), d.audit.Sweep(ctx)); err != nil {
				d.log.Error("renew keys of the REST API and remove what has expired", "error", err)
			}
		}
	}
}
