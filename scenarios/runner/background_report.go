package runner

import (
	"errors"

	"github.com/zkbench/zkbench/results"
)

// report returns what became of the requests; nil without a background, or if the load was ended before the background began. It must be
// called after close.
func (b *background) report() (*results.Background, error) {
	if b == nil || !b.started {
		return nil, nil
	}
	alone, err := b.reportStretch(b.stretches[aloneStretch])
	out := &results.Background{Alone: alone}
	if err != nil || b.saturation {
		return out, err
	}
	during, err := b.reportStretch(b.stretches[windowStretch])
	out.During = &during
	return out, err
}

func (b *background) reportStretch(s *backgroundStretch) (results.BackgroundStretch, error) {
	read, errRead := b.reportKind(s, backgroundRead)
	write, errWrite := b.reportKind(s, backgroundWrite)
	out := results.BackgroundStretch{Start: s.start, End: s.end, BacklogMax: s.backlogMax, Read: read, Write: write}
	return out, errors.Join(errRead, errWrite)
}

func (b *background) reportKind(s *backgroundStretch, k kind) (results.BackgroundRequests, error) {
	of := &s.kinds[k]
	response, err := of.response.Encode()
	if err != nil {
		return results.BackgroundRequests{}, err
	}
	service, err := of.service.Encode()
	return results.BackgroundRequests{
		Due: b.due(k, s.end) - b.due(k, s.start), Answered: of.answered, Failed: of.failed, Response: response, Service: service,
	}, err
}
