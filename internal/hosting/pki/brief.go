package pki

import "time"

// briefly is how long leaves live in a program that end-to-end tests link for themselves, as time.ParseDuration has it:
//
//	-ldflags "-X kqueen.io/kqueen/internal/hosting/pki.briefly=30s"
//
// It is empty in every other program, and no flag, file or variable of the environment changes that.
var briefly string

// brief is how long leaves live here; 0 for as long as their tables say.
func brief() time.Duration {
	d, err := time.ParseDuration(briefly)
	if err != nil {
		return 0
	}
	return max(d, 0)
}

// lifeOf is how long a leaf of which the table says wanted lives from now on, and for how long it is good already. A brief life has no
// past: most of it would be over. What lives longer than leafLife is never renewed, because it ends with the program. It is pure.
func lifeOf(wanted, brief time.Duration) (life, past time.Duration) {
	if brief == 0 || wanted > leafLife {
		return wanted, clockSkew
	}
	return min(wanted, brief), 0
}

// LookAgain is how long a keeper of leaves waits until it looks again whether one is due. That is usual, which has to be
// a small part of a leaf's life.
func LookAgain(usual time.Duration) time.Duration { return lookAgain(usual, brief()) }

// looksInLife is how often leaves with a brief life are looked at.
const looksInLife = 10

func lookAgain(usual, brief time.Duration) time.Duration {
	if brief == 0 {
		return usual
	}
	return min(usual, brief/looksInLife)
}

// signedLives is how many brief lives a certificate has that a cluster's controller manager signs. It is good for five minutes before it is
// signed, and a kubelet asks for the next one when 70 to 90 % of all that are over: of a minute 36 seconds are left then or more, and of half
// a minute nothing is.
const signedLives = 2

// SignFor is how long the certificates live that controller managers sign, such as those of kubelets; 0 for as long as upstream has it.
func SignFor() time.Duration { return signedLives * brief() }
