package results

import "time"

// Connect describes how the sessions of a measurement were established, before its load.
type Connect struct {
	Sessions int           `json:"sessions"`
	Total    time.Duration `json:"total_ns"` // until all clients had their sessions and had joined the recipe
	Each     Histogram     `json:"each"`     // from asking for a session until it is established
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
