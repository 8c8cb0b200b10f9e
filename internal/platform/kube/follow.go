package kube

import "k8s.io/client-go/rest"

// FollowCertificate has config use the client certificate and the key in two files. Clients that are made of it, now and
// later, look at the files every five minutes, as the client library does, and connect anew when they have changed: API
// servers refuse a certificate that has expired on a connection that is open, too.
func FollowCertificate(config *rest.Config, certificateFile, keyFile string) {
	tls := &config.TLSClientConfig
	tls.CertData, tls.KeyData, tls.CertFile, tls.KeyFile = nil, nil, certificateFile, keyFile
}
