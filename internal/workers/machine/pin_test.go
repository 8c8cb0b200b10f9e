package machine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/workers/machine"
)

const authority = `-----BEGIN CERTIFICATE-----
MIIBgjCCASegAwIBAgIUUgv9W2O3Nq/QQwVrXlPO5pQ1TbYwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKa3ViZXJuZXRlczAgFw0yNjExMjIxMzExMzhaGA8yMTI2MTAy
OTEzMTEzOFowFTETMBEGA1UEAwwKa3ViZXJuZXRlczBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABE9SfCpK52k5vs3ECFfejpoqbNAvwlYT+MNXqnOICVUh1qISMN9E
u5Yhh2wSIk7DE5TinF058HQ3IrDeAd8YeuyjUzBRMB0GA1UdDgQWBBSpYHZzbDAg
nl3dC91EF069OkxtAzAfBgNVHSMEGDAWgBSpYHZzbDAgnl3dC91EF069OkxtAzAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQCcxc52qhjMet/AGrjr
vIoOPMEmQJYH1HC7nnmqUnqcGQIhAPaGzIjxNGfdndln2AVmjo9DISruB9GRfSt7
CR2MR4tq
-----END CERTIFICATE-----
`

// authorityHash is what kubeadm's documentation has users compute of it:
//
//	openssl x509 -pubkey -noout -in ca.crt | openssl pkey -pubin -outform der | openssl dgst -sha256 -hex
const authorityHash = "sha256:0cf57cd9a762b57f2fe7caa9bf6cf851e04937eae256bcdb8de8991c10d69c9f"

// TestKeyHashes: every certificate counts, and one that cannot be read is not passed over: it might be the one that an
// attacker has added.
func TestKeyHashes(t *testing.T) {
	broken := "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	for name, c := range map[string]struct {
		pem     string
		want    []string
		problem string
	}{
		"one":               {authority, []string{authorityHash}, ""},
		"with words before": {"the authority:\n" + authority, []string{authorityHash}, ""},
		"two":               {authority + authority, []string{authorityHash, authorityHash}, ""},
		"one is broken":     {authority + broken, nil, "read a certificate: "},
		"a key":             {strings.ReplaceAll(broken, "CERTIFICATE", "PUBLIC KEY"), nil, "read a certificate: "},
		"none":              {"", nil, "it holds no certificate in PEM"},
		"no PEM":            {"MIIBgjCCASegAwIBAgIUUgv9", nil, "it holds no certificate in PEM"},
	} {
		got, err := machine.KeyHashes([]byte(c.pem))
		if c.problem != "" && (err == nil || !strings.HasPrefix(err.Error(), c.problem)) || c.problem == "" && err != nil {
			t.Errorf("%s: got %v, want %q", name, err, c.problem)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
