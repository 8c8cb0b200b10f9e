package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

const (
	// resolvConf names the servers that are asked unless the user names one.
	resolvConf = "/etc/resolv.conf"
	// lookupTimeout is for all that one call asks.
	lookupTimeout = 30 * time.Second
)

// runNslookup looks a name up as programs of the image do: with the domains of resolv.conf, which busybox's nslookup
// does not append to a name with a dot, such as kubernetes.default.
func runNslookup(ctx context.Context, args []string, s streams) int {
	if err := nslookup(ctx, args, s.out); err != nil {
		fmt.Fprintln(s.err, "nslookup:", err)
		return 1
	}
	return 0
}

func nslookup(ctx context.Context, args []string, out io.Writer) error {
	const line = "nslookup [-type=TYPE] NAME|ADDRESS [SERVER]"
	for i, arg := range args { // nslookup has one dash
		if strings.HasPrefix(arg, "-type=") || strings.HasPrefix(arg, "-query=") {
			args[i] = "-" + arg
		}
	}
	f := pflag.NewFlagSet("nslookup", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	kind := f.String("type", "any address", "`TYPE` of records: a, aaaa, cname, mx, ns, ptr, srv or txt")
	f.StringVar(kind, "query", *kind, "as --type")
	if err := f.Parse(args); err != nil {
		return withUsage(f, line, err)
	}
	if f.NArg() < 1 || f.NArg() > 2 {
		return withUsage(f, line, errors.New("name what to look up"))
	}
	name, server := f.Arg(0), f.Arg(1)
	if server == "" {
		server = firstServer(resolvConf)
	}
	resolver := &net.Resolver{PreferGo: true}
	if f.Arg(1) != "" {
		resolver.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(server, "53"))
		}
	}
	fmt.Fprintf(out, "Server:\t\t%s\nAddress:\t%s\n\n", server, net.JoinHostPort(server, "53"))
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if net.ParseIP(name) != nil {
		*kind = "ptr"
	}
	records, err := lookup(ctx, resolver, strings.ToLower(*kind), name)
	for _, record := range records {
		fmt.Fprintln(out, record)
	}
	return err
}

// firstServer is the one that is asked first; empty where the file names none.
func firstServer(file string) string {
	data, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer data.Close()
	for lines := bufio.NewScanner(data); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == "nameserver" {
			return fields[1]
		}
	}
	return ""
}

// lookup returns a line for each record.
func lookup(ctx context.Context, r *net.Resolver, kind, name string) ([]string, error) {
	switch kind {
	case "any address":
		return addresses(ctx, r, "ip", name)
	case "a":
		return addresses(ctx, r, "ip4", name)
	case "aaaa":
		return addresses(ctx, r, "ip6", name)
	case "cname":
		canonical, err := r.LookupCNAME(ctx, name)
		return lines(name+"\tcanonical name = %s", []string{canonical}, err)
	case "ptr":
		names, err := r.LookupAddr(ctx, name)
		return lines(name+"\tname = %s", names, err)
	case "txt":
		texts, err := r.LookupTXT(ctx, name)
		return lines(name+"\ttext = %q", texts, err)
	case "mx":
		found, err := r.LookupMX(ctx, name)
		var hosts []string
		for _, mx := range found {
			hosts = append(hosts, fmt.Sprintf("%d %s", mx.Pref, mx.Host))
		}
		return lines(name+"\tmail exchanger = %s", hosts, err)
	case "ns":
		found, err := r.LookupNS(ctx, name)
		var hosts []string
		for _, ns := range found {
			hosts = append(hosts, ns.Host)
		}
		return lines(name+"\tnameserver = %s", hosts, err)
	case "srv":
		canonical, found, err := r.LookupSRV(ctx, "", "", name)
		var services []string
		for _, srv := range found {
			services = append(services, fmt.Sprintf("%d %d %d %s", srv.Priority, srv.Weight, srv.Port, srv.Target))
		}
		return lines(canonical+"\tservice = %s", services, err)
	}
	return nil, fmt.Errorf("type %q is not known: give a, aaaa, cname, mx, ns, ptr, srv or txt", kind)
}

// addresses are below the whole name, with the domain that made it.
func addresses(ctx context.Context, r *net.Resolver, network, name string) ([]string, error) {
	found, err := r.LookupNetIP(ctx, network, name)
	if err != nil {
		return nil, err
	}
	if canonical, err := r.LookupCNAME(ctx, name); err == nil {
		name = strings.TrimSuffix(canonical, ".")
	}
	records := []string{"Name:\t" + name}
	for _, address := range found {
		records = append(records, "Address: "+address.Unmap().String())
	}
	return records, nil
}

func lines(format string, values []string, err error) ([]string, error) {
	var all []string
	for _, value := range values {
		all = append(all, fmt.Sprintf(format, value))
	}
	return all, err
}
