package results

import "time"

// backgroundSlack is the longest time between an edge of the window and the same edge of the background's stretch.
const backgroundSlack = time.Second

// validateBackground compares the stretches of the background with its load and with the window.
func (d *Document) validateBackground(p *problems) {
	l, b := d.Scenario.Background, d.Background
	endedEarly := d.EndedByBreach() && d.Window.Operations == 0 // in the warm-up, before the background began
	p.unless((l != nil) == (b != nil) || b == nil && (d.Partial || endedEarly), "scenario.background is there: %t, and background: %t", l != nil, b != nil)
	p.unless(l != nil || d.Oracle.BackgroundWrites == 0, "oracle.background_writes is %d, and there is no scenario.background", d.Oracle.BackgroundWrites)
	if l == nil || b == nil {
		return
	}
	p.unless(l.Reads+l.Writes >= 1 && min(l.Bytes, l.Znodes, l.Sessions) >= 1, "scenario.background is %q, without a request, a byte, a znode or a session", l)
	if min(l.Reads, l.Writes) < 0 || max(l.Reads, l.Writes) > MaxBackgroundRate {
		p.unless(false, "scenario.background is %q, and rates are from 0 to %d", l, MaxBackgroundRate)
		return // how many requests were due cannot be computed
	}
	b.Alone.validate(p, "background.alone", *l)
	written := b.Alone.Write.Due - b.Alone.Write.Failed
	if b.During == nil {
		p.unless(d.Window.Operations == 0, "background.during is missing, and window.operations is %d", d.Window.Operations)
		p.unless(b.Alone.End <= d.Window.Start+backgroundSlack, "background.alone ends at %s, and the window begins at %s", b.Alone.End, d.Window.Start)
		return
	}
	b.validateDuring(p, d.Window, *l)
	written += b.During.Write.Due - b.During.Write.Failed
	p.unless(d.Oracle.BackgroundWrites >= written, "oracle.background_writes is %d, and %d were answered", d.Oracle.BackgroundWrites, written)
}

// validateDuring checks the stretch of the window, in which every request was answered.
func (b *Background) validateDuring(p *problems, w Window, l BackgroundLoad) {
	s := *b.During
	s.validate(p, "background.during", l)
	p.unless(b.Alone.End <= s.Start, "background.alone ends at %s, and background.during begins at %s", b.Alone.End, s.Start)
	p.unless(near(s.Start, w.Start) && near(s.End, w.End), "background.during goes from %s to %s, and the window from %s to %s", s.Start, s.End, w.Start, w.End)
	for _, r := range []struct {
		path     string
		requests BackgroundRequests
	}{
		{"alone.read", b.Alone.Read}, {"alone.write", b.Alone.Write}, {"during.read", s.Read}, {"during.write", s.Write},
	} {
		p.unless(r.requests.unanswered() == 0, "background.%s.due is %d, and %d of them are neither answered nor failed", r.path, r.requests.Due, r.requests.unanswered())
	}
}

func near(a, b time.Duration) bool { return max(a-b, b-a) <= backgroundSlack }

func (s BackgroundStretch) validate(p *problems, path string, l BackgroundLoad) {
	p.unless(s.Start <= s.End, "%s goes from %s to %s", path, s.Start, s.End)
	s.Read.validate(p, path+".read", l.Reads, s.length())
	s.Write.validate(p, path+".write", l.Writes, s.length())
	due := s.Read.Due + s.Write.Due
	p.unless(s.BacklogMax > 0 || due == 0, "%s.backlog_max is 0, and %d requests were due", path, due)
}

// validate compares the requests of a kind with their rate: the n-th of them is due n intervals after the first one.
func (r BackgroundRequests) validate(p *problems, path string, rate int, length time.Duration) {
	r.Response.validate(p, path+".response")
	r.Service.validate(p, path+".service")
	p.unless(r.Response.All() == r.Service.All(), "%s.response has %d requests, and service %d", path, r.Response.All(), r.Service.All())
	p.unless(r.unanswered() >= 0, "%s.due is %d, and more were answered or failed", path, r.Due)
	if rate == 0 {
		p.unless(r.Due == 0 && r.Answered == 0, "%s has requests, and its rate is 0", path)
		return
	}
	expected := int64(length / (time.Second / time.Duration(rate)))
	p.unless(expected <= r.Due && r.Due <= expected+1, "%s.due is %d, and should be %d or one more at %d requests per second for %s", path, r.Due, expected, rate, length)
}
