/* A model of the session protocol of exec/PROTOCOL.md. README.md describes what
 * is modeled and what is left out. run.sh sets the bounds and the mutations.
 *
 * A byte of a stream is its own offset: a reader that takes byte k as the k-th
 * byte has neither lost nor doubled one. Index e is a launcher's epoch and also
 * its session's id. Index c is a connection, which is used once.
 */
#ifndef OUT
#define OUT 2			/* bytes that the program writes */
#endif
#ifndef IN
#define IN 1			/* bytes of stdin; the program reads all of them before it ends */
#endif
#ifndef CTL
#define CTL 1			/* control numbers; the program needs all of them before it ends */
#endif
#ifndef CUTS
#define CUTS 1			/* connections cut, or dials given up */
#endif
#ifndef EPOCHS
#define EPOCHS 1		/* launchers; the older may crash, or linger */
#endif
#ifndef RESTARTS
#define RESTARTS 0		/* of the worker's container */
#endif
#ifndef LEASES
#define LEASES 0		/* 1: the lease may run out, on either side */
#endif
#ifndef ENDS
#define ENDS 0			/* 1: launchers send END, at any moment */
#endif
#ifndef WINDOW
#define WINDOW 2		/* unacknowledged bytes */
#endif
#ifndef CAP
#define CAP 2			/* frames inside a connection, each way */
#endif
#ifndef NC
#define NC (2 * EPOCHS - 1 + RESTARTS + 2 * CUTS)	/* a launcher whose connection is replaced dials again, and a late HELLO replaces a connection */
#endif
#define NE (EPOCHS + 1)
#define NONE 255

mtype = { Hello, Welcome, Refuse, Open, Opened, Unknown, Data, Fin, Ack, Control, Exit, Forget, End, Ended };

chan down[NC] = [CAP] of { mtype, byte, byte };	/* launcher to worker */
chan up[NC] = [CAP] of { mtype, byte, byte };

/* The properties by name, so that a violated assertion shows which one. All of them stay false. */
bool no_byte_lost, no_byte_doubled, one_start, exit_once, no_false_success, fenced, flow_bounded,
	controls_in_order, offsets_agree, progress, nothing_left, forgotten;

/* A connection, as each end sees it. */
mtype = { Fresh, Fenced, Serving, Stale, Gone };
mtype wst[NC] = Fresh;		/* Stale: replaced; only the reader's buffer is left */
bool cut[NC], left[NC];		/* left: the launcher's end is closed */
byte who[NC];			/* epoch of its launcher */
byte dialled, cuts;

/* The worker. */
bool running = true, ending, expired;
byte instance = 1, epoch, welcomed, cur = NONE, restarts, endOn = NONE;
mtype = { Self, Stopped };

typedef Held {			/* a session in the worker */
	bool known, starting, alive, stop, exited, fin, inFin, oweOpened, oweUnknown, oweExit;
	byte conn = NONE, starts, made, base, sent, inNext, inDone, inAcked, control, signals;
	mtype why
}
Held w[NE];

/* A launcher. */
mtype = { Idle, Down, Dialling, Up, Lost, Crashed };
mtype = { Good, Bad };
typedef Side {
	mtype state = Idle, over;
	byte conn = NONE, instance, got, done, acked, total, base, sent, told, heard;
	bool needOpen, needForget, needEnd, ended, on, confirmed, fin, inFin, exit;
	mtype why
}
Side l[NE];

inline flush(ch) { do :: ch?_,_,_ :: empty(ch) -> break od }

#define canSend(c) (!cut[c] && (wst[c] == Fresh || wst[c] == Serving) && nfull(down[c]))
#define canAnswer(c) (!cut[c] && !left[c] && wst[c] == Serving && nfull(up[c]))
#define mine(c, e) (w[e].conn == c)

#ifdef START_BLIND		/* a stop or signal does not wait for a pending start */
#define settled(e) true
#else
#define settled(e) (!w[e].starting)
#endif
#define clean(e) (!w[e].alive && settled(e))

/* ---- worker */

inline halt(e) {
	if
	:: w[e].alive || !settled(e) -> w[e].stop = true
	:: else
	fi
}

inline hangup(c) {
	wst[c] = Gone; flush(down[c]);
	if :: cur == c -> cur = NONE :: else fi
}

inline vanish() {		/* PID 1 has ended, and so have the streams into its container */
	running = false; cur = NONE; endOn = NONE; i = 0;
	do
	:: i < dialled -> wst[i] = Gone; flush(down[i]); i++
	:: else -> break
	od;
	i = 1;
	do
	:: i < NE -> w[i].alive = false; w[i].starting = false; w[i].known = false; w[i].conn = NONE; i++
	:: else -> break
	od;
	i = 0
}

inline claim(c, e) {
	if
#ifndef LOWER_EPOCH
	:: e < epoch -> wst[c] = Gone;
		if :: !cut[c] && !left[c] -> up[c]!Refuse,0,0 :: cut[c] || left[c] fi
#endif
	:: else ->
		if
		:: e > epoch && epoch != 0 -> halt(epoch); w[epoch].known = false
		:: else
		fi;
		if :: cur != NONE -> wst[cur] = Stale :: else fi;
		cur = c; epoch = e; wst[c] = Fenced
	fi
}

inline attach(c, e, received) {
	assert(offsets_agree || w[e].base <= received && received <= w[e].made);
	w[e].conn = c; w[e].sent = received; w[e].fin = false;
	w[e].inAcked = 0; w[e].oweUnknown = false; w[e].oweExit = w[e].exited
}

inline open(c, e, confirmed, received) {
	if
	:: cur != c -> hangup(c)
	:: cur == c && w[e].known -> attach(c, e, received); w[e].oweOpened = true
	:: cur == c && !w[e].known && (confirmed || ending) -> w[e].conn = c; w[e].oweUnknown = true
	:: cur == c && !w[e].known && !confirmed && !ending ->
		w[e].known = true; w[e].starting = true;
		attach(c, e, received); w[e].oweOpened = false; creating = true
	fi
}

inline put(e, off, n) {		/* stdin, as in flow.In */
	assert(no_byte_lost || off <= w[e].inNext);
#ifdef NO_SKIP
	assert(no_byte_doubled || off == w[e].inNext); w[e].inNext = w[e].inNext + n
#else
	if :: off + n > w[e].inNext -> w[e].inNext = off + n :: else fi
#endif
}

inline carry(c, e, type, x, y) {
	if
	:: type == Open -> open(c, e, x, y)
	:: type == Data -> if :: mine(c, e) -> holding = true; hoff = x; hn = y :: else fi
	:: type == Fin -> if :: mine(c, e) -> assert(offsets_agree || w[e].inNext <= x); w[e].inFin = true :: else fi
	:: type == Ack ->
		if
		:: mine(c, e) && x > w[e].base ->
			assert(offsets_agree || x <= w[e].made);
			assert(no_byte_lost || x <= l[e].done);		/* freed bytes have been written by the launcher */
			w[e].base = x;
			if :: x > w[e].sent -> w[e].sent = x :: else fi
		:: else
		fi
	:: type == Control ->
		if
		:: mine(c, e) && x > w[e].control ->
			assert(controls_in_order || x == w[e].control + 1);
			w[e].control = x;
			if :: w[e].alive -> w[e].signals++ :: else fi
		:: else
		fi
	:: type == Forget ->
		if
		:: w[e].known && w[e].exited ->
			assert(no_byte_lost || l[e].done == w[e].made || l[e].over == Bad);
			w[e].known = false; w[e].conn = NONE
		:: w[e].known && !w[e].exited -> halt(e); w[e].conn = NONE
		:: else
		fi
	:: type == End ->
#ifndef FENCE_BUFFER
		if :: cur != c -> skip :: else ->
#else
		if :: true ->
#endif
			assert(fenced || who[c] == epoch);		/* a fenced launcher has no effect */
			ending = true; endOn = c; halt(epoch) fi
	fi
}

proctype WorkerConn(byte c) {
	byte e, x, y, hoff, hn, i;
	mtype type;
	bool creating, holding;
end:	do
	:: d_step { wst[c] == Fresh && running && !ending && nempty(down[c]) ->
		down[c]?type,e,x; claim(c, e); x = 0; y = 0; type = 0 }
	:: d_step { wst[c] == Fenced && (e == 1 || clean(1)) ->
		if
		:: cur != c || cut[c] || left[c] -> hangup(c)
		:: else -> wst[c] = Serving; up[c]!Welcome,instance,w[e].known;
			assert(fenced || e >= welcomed && (e == 1 || !w[1].alive));
			if :: e > welcomed -> welcomed = e :: else fi
		fi }
	/* The connection that requested the start runs it, and reads nothing until it is done. */
	:: d_step { creating ->
		creating = false;
		if
		:: w[e].starting ->
			w[e].starting = false; w[e].starts++; w[e].alive = true;
			assert(one_start || w[e].starts <= 1);
			assert(fenced || e >= welcomed);
			if :: mine(c, e) -> w[e].oweOpened = true :: else fi
		:: else							/* the container has ended */
		fi }
	/* Another connection may attach between the check of the session's owner and this write. */
	:: d_step { holding -> put(e, hoff, hn); holding = false; hoff = 0; hn = 0 }
	:: atomic { (wst[c] == Serving || wst[c] == Stale) && !creating && !holding && nempty(down[c]) &&
			(!(down[c]?[Control,_,_]) || settled(e)) ->
		d_step { down[c]?type,x,y; carry(c, e, type, x, y); x = 0; y = 0; type = 0 } }
	/* Frames to send, in any order. */
	:: d_step { canAnswer(c) && mine(c, e) && w[e].oweUnknown -> w[e].oweUnknown = false; up[c]!Unknown,0,0 }
	:: d_step { canAnswer(c) && mine(c, e) && w[e].oweOpened -> w[e].oweOpened = false; up[c]!Opened,w[e].inNext,w[e].control }
	:: d_step { canAnswer(c) && mine(c, e) && w[e].oweExit -> w[e].oweExit = false; up[c]!Exit,w[e].made,w[e].why }
	:: d_step { canAnswer(c) && mine(c, e) && w[e].inDone > w[e].inAcked -> w[e].inAcked = w[e].inDone; up[c]!Ack,w[e].inDone,0 }
	:: d_step { canAnswer(c) && mine(c, e) && w[e].sent < w[e].made && w[e].sent - w[e].base < WINDOW ->
		up[c]!Data,w[e].sent,1; w[e].sent++ }
	:: d_step { canAnswer(c) && mine(c, e) && w[e].sent + 1 < w[e].made && w[e].sent + 2 - w[e].base <= WINDOW ->
		up[c]!Data,w[e].sent,2; w[e].sent = w[e].sent + 2 }
	:: d_step { canAnswer(c) && mine(c, e) && w[e].exited && w[e].sent == w[e].made && !w[e].fin ->
		w[e].fin = true; up[c]!Fin,w[e].made,0 }
	:: d_step { endOn == c && canAnswer(c) && clean(epoch) -> up[c]!Ended,0,0; endOn = NONE; vanish() }
	/* The end of the stream. Unread frames are lost. */
	:: d_step { (wst[c] != Gone && wst[c] != Fresh && !creating && !holding && (wst[c] == Stale || cut[c] || left[c])) -> hangup(c) }
	:: d_step { wst[c] == Fresh && dialled > c && (cut[c] || left[c]) -> hangup(c) }
	:: wst[c] == Gone && !creating && !holding -> break
	od
}

/* The program of a session: it writes, reads all of stdin, takes its signals, and ends. */
proctype Program(byte e) {
end:	do
	:: d_step { w[e].alive && w[e].made < OUT -> w[e].made++ }
	:: d_step { w[e].alive && w[e].inDone < w[e].inNext -> w[e].inDone++ }
	:: d_step { w[e].alive && w[e].made == OUT && w[e].inDone == IN && (w[e].inFin || !IN) && w[e].signals == CTL ->
		w[e].alive = false; w[e].exited = true; w[e].why = Self; w[e].oweExit = true }
	:: d_step { w[e].alive && w[e].stop ->
		w[e].alive = false; w[e].exited = true; w[e].why = Stopped; w[e].oweExit = true }
	od
}

/* ---- launcher */

inline drop(e) {		/* the connection is lost, or given up */
	left[l[e].conn] = true; flush(up[l[e].conn]);
	l[e].conn = NONE; l[e].state = Down; l[e].on = false;
	l[e].needOpen = false; l[e].needForget = false; l[e].needEnd = false
}

inline succeed(e) {
	assert(exit_once || l[e].over == 0);
	assert(no_byte_lost || l[e].done == l[e].total);
	assert(no_false_success || l[e].why == Stopped || l[e].total == OUT);
	l[e].over = Good
}

inline lose(e) {		/* no redial can help */
	if :: l[e].conn != NONE -> drop(e) :: else fi;
	l[e].state = Lost;
	if
	:: l[e].over == 0 && l[e].exit && l[e].got == l[e].total ->
#ifdef ABORT_ON_LOSS		/* drop bytes that were received but not written */
		succeed(e)
#else
		l[e].fin = true					/* the totals end the streams */
#endif
	:: l[e].over == 0 && !(l[e].exit && l[e].got == l[e].total) -> l[e].over = Bad
	:: else
	fi
}

inline take(e, type, x, y) {
	if
	:: type == Welcome ->
		if
#ifndef IGNORE_INSTANCE
		:: l[e].instance != 0 && l[e].instance != x -> lose(e)
#endif
		:: else ->
			l[e].instance = x; l[e].state = Up; l[e].acked = 0;
			if
			:: l[e].over == 0 -> l[e].needOpen = true
			:: l[e].over != 0 && y -> l[e].needForget = true
			:: else
			fi;
			if :: l[e].ended -> l[e].needEnd = true :: else fi
		fi
	:: type == Refuse -> lose(e)
	:: type == Unknown -> if :: l[e].over == 0 -> l[e].over = Bad; l[e].needForget = l[e].confirmed :: else fi
	:: type == Opened && l[e].over == 0 ->
		assert(offsets_agree || l[e].base <= x && x <= IN);
		l[e].on = true; l[e].confirmed = true;
		l[e].sent = x; l[e].inFin = false; l[e].heard = y; l[e].told = y
	:: type == Data && l[e].over == 0 ->
		assert(no_byte_lost || x <= l[e].got);
		if :: x + y > l[e].got -> l[e].got = x + y :: else fi;
		assert(flow_bounded || l[e].got - l[e].done <= WINDOW)	/* there is room for received bytes */
	:: type == Fin && l[e].over == 0 -> assert(no_byte_lost || l[e].got == x); l[e].fin = true
	:: type == Ack && l[e].over == 0 ->
		assert(no_byte_lost || x <= w[e].inDone || instance != l[e].instance);
		if :: x > l[e].base -> l[e].base = x :: else fi
	:: type == Exit && l[e].over == 0 ->
		assert(exit_once || !l[e].exit || l[e].total == x && l[e].why == y);	/* a repeated EXIT is the same */
		l[e].exit = true; l[e].total = x; l[e].why = y;
#ifndef LATE_CONFIRM
		l[e].confirmed = true
#endif
	:: type == Ended -> lose(e); l[e].ended = false
	:: else
	fi
}

proctype Launcher(byte e) {
	byte c, x, y;
	mtype type;
#ifdef FORGET_EARLY
	bool early;
#endif
end:	do
	:: d_step { l[e].state == Down && running && !ending ->
		assert(progress || dialled < NC);			/* redials come to an end */
		c = dialled; dialled++; who[c] = e; l[e].conn = c; l[e].state = Dialling;
		down[c]!Hello,e,0 }
	/* A closed stream is read to its end, a cut stream up to any position. */
	:: d_step { (l[e].state == Dialling || l[e].state == Up) && (cut[c] || (wst[c] == Stale || wst[c] == Gone) && empty(up[c])) -> drop(e) }
	:: d_step { (l[e].state == Dialling || l[e].state == Up) && nempty(up[c]) -> up[c]?type,x,y; take(e, type, x, y); x = 0; y = 0; type = 0 }
	/* Frames to send. */
	:: d_step { l[e].state == Up && l[e].needOpen && canSend(c) -> l[e].needOpen = false; down[c]!Open,l[e].confirmed,l[e].got }
	:: d_step { l[e].state == Up && l[e].needForget && canSend(c) -> l[e].needForget = false; down[c]!Forget,0,0 }
	:: d_step { l[e].state == Up && l[e].needEnd && canSend(c) -> l[e].needEnd = false; down[c]!End,0,0 }
	:: d_step { l[e].on && l[e].over == 0 && l[e].told < CTL && canSend(c) -> l[e].told++; down[c]!Control,l[e].told,0 }
	:: d_step { l[e].on && l[e].over == 0 && l[e].sent < IN && canSend(c) -> down[c]!Data,l[e].sent,1; l[e].sent++ }
	:: d_step { l[e].on && l[e].over == 0 && l[e].sent + 1 < IN && canSend(c) -> down[c]!Data,l[e].sent,2; l[e].sent = l[e].sent + 2 }
	:: d_step { l[e].on && l[e].over == 0 && l[e].sent == IN && !l[e].inFin && canSend(c) -> l[e].inFin = true; down[c]!Fin,IN,0 }
#ifdef ACK_EARLY		/* acknowledge received bytes, not written ones */
	:: d_step { l[e].on && l[e].over == 0 && l[e].got > l[e].acked && canSend(c) -> l[e].acked = l[e].got; down[c]!Ack,l[e].got,0 }
#else
	:: d_step { l[e].on && l[e].over == 0 && l[e].done > l[e].acked && canSend(c) -> l[e].acked = l[e].done; down[c]!Ack,l[e].done,0 }
#endif
	/* The user's descriptor takes a byte. */
	:: d_step { l[e].over == 0 && l[e].done < l[e].got && l[e].state != Crashed -> l[e].done++ }
#ifdef FORGET_EARLY		/* send FORGET with EXIT, before all bytes have arrived */
	:: d_step { l[e].state == Up && l[e].over == 0 && l[e].exit && l[e].on && canSend(c) && !early -> early = true; down[c]!Forget,0,0 }
#endif
	:: d_step { l[e].over == 0 && l[e].exit && l[e].fin && l[e].done == l[e].total && l[e].state != Crashed ->
		succeed(e); l[e].needForget = (l[e].state == Up && l[e].confirmed) }
	/* The pod's status shows that the container has ended with 0. */
	:: d_step { !running && l[e].state != Lost && l[e].state != Crashed -> lose(e) }
	:: d_step { ENDS && !l[e].ended && l[e].state == Up && e == 1 -> l[e].ended = true; l[e].needEnd = true }
	/* A crash, and the start of the successor, which need not wait for the crash. */
	:: d_step { e < EPOCHS && l[e].state != Idle && l[e].state != Crashed && l[e].state != Lost && l[e + 1].state == Idle ->
		if :: l[e].conn != NONE -> drop(e) :: else fi; l[e].state = Crashed }
	:: d_step { l[e].state == Idle && (e == 1 || l[e - 1].state != Idle) -> l[e].state = Down }
	:: d_step { LEASES && l[e].state == Down && l[e].instance != 0 && running -> expired = true; lose(e) }
	od
}

/* ---- faults, and the properties when no step is possible any more */

proctype Faults() {
	byte i;
end:	do
	:: d_step { cuts < CUTS && l[1].conn != NONE && !cut[l[1].conn] -> cut[l[1].conn] = true; cuts++ }
#if EPOCHS > 1
	:: d_step { cuts < CUTS && l[2].conn != NONE && !cut[l[2].conn] -> cut[l[2].conn] = true; cuts++ }
#endif
	:: d_step { restarts < RESTARTS && running && !ending ->
		restarts++; vanish(); running = true; instance++; epoch = 0; welcomed = 0;
		i = 1;
		do
		:: i < NE -> w[i].stop = false; w[i].exited = false; w[i].made = 0; w[i].base = 0; w[i].sent = 0;
			w[i].inNext = 0; w[i].inDone = 0; w[i].inFin = false; w[i].control = 0; w[i].signals = 0;
			w[i].oweOpened = false; w[i].oweExit = false; w[i].oweUnknown = false; i++
		:: else -> break
		od;
		i = 0 }
	:: d_step { LEASES && running && epoch != 0 && cur == NONE && (w[epoch].alive || w[epoch].starting) && !w[epoch].stop ->
		expired = true; halt(epoch) }
	:: d_step { ending && running && clean(1) && clean(EPOCHS) && (endOn == NONE || wst[endOn] == Gone || cut[endOn] || left[endOn] || wst[endOn] == Stale) -> vanish() }
	:: timeout -> break
	od;
	atomic {
		/* Frames got through, so every launcher knows how its session ended. */
		i = 1;
		do
		:: i < NE ->
			assert(progress || l[i].over != 0 || l[i].state == Crashed);
			assert(nothing_left || !w[i].alive && !w[i].starting);
			i++
		:: else -> break
		od;
		if
		:: restarts == 0 && !expired && !ENDS ->
			assert(progress || l[EPOCHS].over == Good && l[EPOCHS].why == Self && l[EPOCHS].state == Up);
			assert(forgotten || !w[EPOCHS].known)
		:: else
		fi
	}
}

init {
	atomic {
		byte i = 0;
		do
		:: i < NC -> run WorkerConn(i); i++
		:: else -> break
		od;
		i = 1;
		do
		:: i < NE -> run Program(i); run Launcher(i); i++
		:: else -> break
		od;
		run Faults()
	}
}
