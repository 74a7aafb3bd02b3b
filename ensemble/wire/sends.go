package wire

// AwaitSend returns a channel that is closed when the session is about to send its next request for a path. A request that the client
// makes after that is sent later, because the client sends one frame after another. The caller calls forget when it no longer waits.
//
// Two callers must not wait for the same path at the same time: the first one's channel would never be closed. The same holds for a
// path of more than a thousand bytes.
func (l *Ledger) AwaitSend(path string) (sent <-chan struct{}, forget func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := make(chan struct{})
	l.sends[path] = c
	return c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.sends[path] == c {
			delete(l.sends, path)
		}
	}
}

// send notes that a request is about to be sent. The ledger is locked.
func (l *Ledger) send(body []byte) {
	if len(l.sends) == 0 {
		return
	}
	path, _ := jutePath(body[8:])
	if sent, ok := l.sends[string(path)]; ok {
		delete(l.sends, string(path))
		close(sent)
	}
}
