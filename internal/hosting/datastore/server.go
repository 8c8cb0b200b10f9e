package datastore

import (
	"fmt"
	"net"
	"strconv"
)

// DefaultQuotaBytes is the size at which etcd stops all writes when [ServerConfig.QuotaBytes] is zero: the most that etcd's own documentation recommends.
const DefaultQuotaBytes = 8 << 30

// ServerConfig describes the one member of an etcd on this host. All fields without a default are required.
type ServerConfig struct {
	Name       string // of the member; must stay the same for the life of DataDir
	DataDir    string // absolute
	ClientPort int    // on 127.0.0.1, for API servers and for Store
	PeerPort   int    // on 127.0.0.1; etcd listens there even when it is alone
	// HTTPPort takes /metrics, /health and /version (with client certificate) off the client port, which then speaks gRPC only. Zero leaves them there.
	HTTPPort int

	CertFile, KeyFile string // server certificate for 127.0.0.1
	ClientCAFile      string // authority of client certificates. Who has a certificate of it is the etcd user that its common name says

	PeerCertFile, PeerKeyFile string // for 127.0.0.1, both server and client
	// PeerCAFile must not be the authority of client certificates: a tenant with its own could join the cluster as a member.
	PeerCAFile string

	QuotaBytes int64 // zero: DefaultQuotaBytes
}

func (c ServerConfig) validate() error {
	for _, f := range []struct{ name, value string }{
		{"Name", c.Name}, {"DataDir", c.DataDir},
		{"CertFile", c.CertFile}, {"KeyFile", c.KeyFile}, {"ClientCAFile", c.ClientCAFile},
		{"PeerCertFile", c.PeerCertFile}, {"PeerKeyFile", c.PeerKeyFile}, {"PeerCAFile", c.PeerCAFile},
	} {
		if f.value == "" {
			return fmt.Errorf("etcd server config: %s is empty", f.name)
		}
	}
	if c.PeerCAFile == c.ClientCAFile {
		return fmt.Errorf("etcd server config: PeerCAFile is ClientCAFile: members need an authority of their own, or a tenant can join as one")
	}
	for _, p := range []struct {
		name string
		port int
	}{{"ClientPort", c.ClientPort}, {"PeerPort", c.PeerPort}} {
		if p.port < 1 || p.port > 65535 {
			return fmt.Errorf("etcd server config: %s %d is not between 1 and 65535", p.name, p.port)
		}
	}
	if c.HTTPPort < 0 || c.HTTPPort > 65535 {
		return fmt.Errorf("etcd server config: HTTPPort %d is not between 0 and 65535", c.HTTPPort)
	}
	if c.QuotaBytes < 0 {
		return fmt.Errorf("etcd server config: QuotaBytes %d is negative", c.QuotaBytes)
	}
	return nil
}

// ServerArgs are the flags, without the program's name, of an etcd member on this host that holds many tenants. It is pure.
func ServerArgs(c ServerConfig) ([]string, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	quota := c.QuotaBytes
	if quota == 0 {
		quota = DefaultQuotaBytes
	}
	client, peer := loopbackURL(c.ClientPort), loopbackURL(c.PeerPort)
	args := []string{
		"--name=" + c.Name,
		"--data-dir=" + c.DataDir,
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + c.Name + "=" + peer,
		"--initial-cluster-state=new", // ignored once DataDir holds a member
		"--initial-cluster-token=" + clusterToken(c.Name),

		"--cert-file=" + c.CertFile,
		"--key-file=" + c.KeyFile,
		"--client-cert-auth=true",
		"--trusted-ca-file=" + c.ClientCAFile,
		"--peer-cert-file=" + c.PeerCertFile,
		"--peer-key-file=" + c.PeerKeyFile,
		"--peer-client-cert-auth=true",
		"--peer-trusted-ca-file=" + c.PeerCAFile,
		"--tls-min-version=TLS1.3",

		// The only compaction there is: etcd forbids Compact to users with a prefix, so tenants run with --etcd-compaction-interval=0.
		// Without one every few minutes the store grows for ever. Upstream's tests want that what is older than 10 minutes
		// has expired; periodic compaction takes up to 2.1 times the retention for that.
		"--auto-compaction-mode=periodic",
		"--auto-compaction-retention=4m",
		// A client that has to connect anew goes on with a watch where it knows that it was. Of one that sees no change that is long
		// ago, and forgotten: API servers then end the watches of their own clients. They ask to be told how far it is, now and then.
		"--watch-progress-notify-interval=1m",
		"--quota-backend-bytes=" + strconv.FormatInt(quota, 10),
		// Off by default, but without them a flipped bit in the database is served to the tenants.
		"--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true",
		// The HTTP gateway speaks to etcd with the server's certificate instead of the caller's.
		"--enable-grpc-gateway=false",
		"--logger=zap",
		"--log-level=warn",
		"--log-outputs=stderr",
	}
	if c.HTTPPort != 0 {
		args = append(args, "--listen-client-http-urls="+loopbackURL(c.HTTPPort))
	}
	return args, nil
}

// clusterToken keeps members of two clusters apart.
func clusterToken(member string) string { return "kqueen-" + member }

func loopbackURL(port int) string {
	return "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
