package results

import "time"

// connectPhase is the time until a session is established.
const connectPhase = "connect"

// ConnectP99 is the metric of the time until a session is established.
const ConnectP99 = "connect-p99-ns"

// Connect describes how the sessions of a measurement were established, before its load.
type Connect struct {
	Sessions int           `json:"sessions"`
	Total    time.Duration `json:"total_ns"` // until all clients had their sessions and had joined the recipe
	Each     Histogram     `json:"each"`     // from asking for a session until it is established
}

// addConnect adds the metric.
func (d *Document) addConnect(metrics map[string]Metric) error {
	if d.Connect == nil {
		return nil
	}
	each, err := d.Connect.Each.Decode()
	if err == nil && each.TotalCount() > 0 {
		metrics[ConnectP99] = Metric{float64(each.ValueAtPercentile(99)), "ns"}
	}
	return err
}

// roundedUp is how much larger than the longest of its times a histogram's maximum may be.
const roundedUp = 1.001

// validateConnect checks that each client has a session, and that none took longer than all of them.
func (d *Document) validateConnect(p *problems) {
	c := d.Connect
	if c == nil {
		return
	}
	p.unless(c.Sessions == d.Clients, "connect.sessions is %d, and clients %d", c.Sessions, d.Clients)
	c.Each.validate(p, "connect.each")
	p.unless(c.Each.All() == int64(c.Sessions), "connect.each has %d samples, and connect.sessions is %d", c.Each.All(), c.Sessions)
	each, err := c.Each.Decode()
	p.unless(err != nil || float64(each.Max()) <= roundedUp*float64(max(c.Total, lowestLatency)), "connect.total_ns is %s, less than one session took", c.Total)
}
