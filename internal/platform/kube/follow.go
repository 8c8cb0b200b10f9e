package kube

import (
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// CertificateLook is the time between two looks at the files of [FollowCertificate]: that of the client library.
const CertificateLook = 5 * time.Minute

// LookForCertificates sets another one for the clients of this process that are made after it.
func LookForCertificates(every time.Duration) {
	if transport.CertCallbackRefreshDuration != every { // what is as wanted is not written: other goroutines read it
		transport.CertCallbackRefreshDuration = every
	}
}

// FollowCertificate has config use the client certificate and the key in two files. Clients that are made of it, now and
// later, look at the files every [CertificateLook] and connect anew when they have changed: API
// servers refuse a certificate that has expired on a connection that is open, too.
func FollowCertificate(config *rest.Config, certificateFile, keyFile string) {
	tls := &config.TLSClientConfig
	tls.CertData, tls.KeyData, tls.CertFile, tls.KeyFile = nil, nil, certificateFile, keyFile
}
