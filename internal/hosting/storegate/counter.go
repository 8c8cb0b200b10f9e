package storegate

import "sync"

// counter is how many bytes of keys and values a tenant holds. It is measured as of one revision of the store, and
// everything that comes later is added. Changes are sums, so their order does not matter; each comes with its revision, so
// that none counts that was measured already.
//
// It is safe for concurrent use.
type counter struct {
	mu        sync.Mutex
	measured  int64 // as of revision
	revision  int64
	later     int64 // changes of later revisions
	known     bool
	measuring bool
	meanwhile []delta // since the present measurement began
	first     chan struct{}
	doubtful  chan struct{} // holds one: the next measurement is due
}

// delta is a change of one revision.
type delta struct{ revision, bytes int64 }

func newCounter() *counter {
	return &counter{first: make(chan struct{}), doubtful: make(chan struct{}, 1)}
}

// add counts a change.
func (c *counter) add(d delta) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.measuring {
		c.meanwhile = append(c.meanwhile, d)
	}
	if d.revision > c.revision {
		c.later += d.bytes
	}
}

// doubt counts, until the next measurement, what was perhaps written.
func (c *counter) doubt(bytes int64) {
	c.mu.Lock()
	c.later += bytes
	c.mu.Unlock()
	select {
	case c.doubtful <- struct{}{}:
	default:
	}
}

// begin is called before a measurement.
func (c *counter) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.measuring, c.meanwhile = true, nil
}

// settle takes what was measured as of a revision. Without that of a measurement that failed, what was known stays.
func (c *counter) settle(bytes, revision int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.measured, c.revision, c.later = bytes, revision, 0
		for _, d := range c.meanwhile {
			if d.revision > revision {
				c.later += d.bytes
			}
		}
		if !c.known {
			c.known = true
			close(c.first)
		}
	}
	c.measuring, c.meanwhile = false, nil
}

// held is how many bytes there are, when that is known.
func (c *counter) held() (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.measured+c.later, 0), c.known
}
