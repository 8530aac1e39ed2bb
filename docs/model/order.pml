/*
 * The life of one purchase intent, every interleaving: CALLERS requests carry its key, and any of their processes may die at any step.
 * Messages to stock-svc are lost, late or delivered twice; a COMMIT may be acknowledged to nobody; a claim may expire at any moment; the
 * relay may die after it has handled an event. The order, once made, is paid, cancelled and found expired at once.
 *
 * One `atomic` is one transaction of one database, or one message that is taken in. What is between two of them can be interleaved.
 * `npm run model` checks it, and then each MUTANT: the same with one rule left out, in which a broken promise must be found.
 */
#ifndef CALLERS
#define CALLERS 2
#endif
#define NUMBERS 3          /* order numbers that can be minted */
#define PIECES 3           /* in stock at first; each order wants one */
#define NOBODY NUMBERS

/* order-svc's database */
bool claim[NUMBERS];       /* a row of t_order_claim */
byte claimed_by = NOBODY;  /* the number whose claim holds the key */
mtype:status = { ABSENT, WAIT_PAY, PAID, CANCELLED };
mtype:status order[NUMBERS] = ABSENT;
byte ordered_by = NOBODY;  /* the number whose order holds the key */
bool restore_due[NUMBERS]; /* a STOCK_RESTORE event that waits */

/* stock-svc's database */
mtype:header = { NONE, DEDUCTED, RESTORED };
mtype:header header[NUMBERS] = NONE;
byte available = PIECES;

/* between them */
byte on_the_way[NUMBERS];  /* Deduct messages that have been sent */

byte minted;
byte at_work = CALLERS;
bool told_paid;            /* somebody was told that the order is paid */
bool no_more_cancels;
byte over;                 /* processes other than callers' that have nothing more to do */

inline deduct(n) {
  if
  :: header[n] == NONE && available > 0 -> header[n] = DEDUCTED; available--
  :: else -> skip          /* a repeat, closed, or sold out */
  fi
}

inline restore(n) {
  if
  :: header[n] == DEDUCTED -> header[n] = RESTORED; available++
#ifndef MUTANT_NO_TOMBSTONE
  :: header[n] == NONE -> header[n] = RESTORED
#endif
  :: else -> skip
  fi
}

inline end_claim(n) {
  claim[n] = false;
  if :: claimed_by == n -> claimed_by = NOBODY :: else -> skip fi
}

inline may_die() { if :: goto dead :: skip fi }

proctype CreateOrder() {
  byte me; byte holder; bool took; bool sure; bool made;

again:
  /* 2 pre-check */
  if :: ordered_by != NOBODY -> goto dead :: else -> skip fi;
  /* 3 a number of its own */
  atomic { if :: minted < NUMBERS -> me = minted; minted++ :: else -> goto dead fi };
  /* 4 claim */
  atomic {
    holder = claimed_by;
    if :: holder == NOBODY -> claim[me] = true; claimed_by = me :: else -> skip fi
  };
  if
  :: holder == NOBODY -> skip
  :: else ->
     if
     :: ordered_by != NOBODY -> goto dead                                  /* replay */
     :: claimed_by != holder -> goto again                                 /* it has ended */
     :: atomic { claim[holder] -> end_claim(holder); restore_due[holder] = true }; goto again  /* it has expired */
     :: goto dead                                                          /* REQUEST_IN_PROGRESS */
     fi
  fi;
  may_die();
  /* 5 Deduct: sent once or twice; an answer, or none in time */
  on_the_way[me]++;
  if :: on_the_way[me]++ :: skip fi;
  may_die();
  sure = false; took = false;
  if
  :: atomic { on_the_way[me] > 0 -> on_the_way[me]--; deduct(me); took = (header[me] == DEDUCTED); sure = true }
  :: skip
  fi;
  may_die();
  if :: !took -> goto compensate :: else -> skip fi;
  /* 6 persist, in one transaction */
  made = false;
  atomic {
    if
#ifdef MUTANT_CLAIM_NOT_ASKED
    :: ordered_by == NOBODY -> end_claim(me); order[me] = WAIT_PAY; ordered_by = me; made = true
#else
    :: claim[me] && ordered_by == NOBODY -> end_claim(me); order[me] = WAIT_PAY; ordered_by = me; made = true
#endif
    :: else -> skip                                                        /* it was reaped, or the unique key */
    fi
  };
  may_die();
  /* 9 nobody was told whether it was committed: ask the claim */
  if
  :: skip
  :: true ->
#ifdef MUTANT_ASKED_BY_DELETE
     atomic { made = !claim[me]; end_claim(me) };
     may_die();
     if :: made -> made = (order[me] != ABSENT) :: else -> skip fi
#else
     atomic {
       if
       :: claim[me] -> made = false
#ifdef MUTANT_NO_CLAIM_IS_A_COMMIT
       :: else -> made = true; assert(order[me] != ABSENT)
#else
       :: else -> made = (order[me] != ABSENT)
#endif
       fi
     }
#endif
  fi;
  if :: made -> goto dead :: else -> skip fi;

compensate:
#ifdef MUTANT_ONLY_CONFIRMED_DEDUCTS
  if :: !sure -> atomic { end_claim(me) }; goto dead :: else -> skip fi;
#endif
  if
  :: true -> atomic { restore(me) }; may_die(); atomic { if :: claim[me] -> end_claim(me) :: else -> skip fi }
  :: true -> atomic { if :: claim[me] -> end_claim(me); restore_due[me] = true :: else -> skip fi }
  :: true -> skip                                                          /* the database is away: left to the reaper */
  fi;

dead:
  at_work--
}

#define THE_ORDER (ordered_by != NOBODY)

/* PayOrder, CancelOrder and the expiry of an unpaid order, each as often as it likes. One UPDATE with a condition decides. */
active proctype Pay() {
  mtype:status seen; byte n;
  do
  :: THE_ORDER ->                                                          /* PayOrder */
     n = ordered_by;
#ifdef MUTANT_PAID_AFTER_A_LOOK
     seen = order[n];
     atomic { if :: seen == WAIT_PAY -> order[n] = PAID; told_paid = true :: else -> skip fi }
#else
     atomic { if :: order[n] == WAIT_PAY -> order[n] = PAID; told_paid = true :: else -> skip fi }
#endif
  :: at_work == 0 -> break
  od;
  over++
}

active proctype Cancel() {
  mtype:status seen; byte n;
  do
  :: THE_ORDER ->                                                          /* CancelOrder, or the expiry worker */
     n = ordered_by;
#ifdef MUTANT_CANCELLED_AFTER_A_LOOK
     seen = order[n];
     atomic { if :: seen == WAIT_PAY -> order[n] = CANCELLED; restore_due[n] = true :: else -> skip fi }
#else
#ifdef MUTANT_CANCEL_EVENT_APART
     atomic { seen = order[n]; if :: seen == WAIT_PAY -> order[n] = CANCELLED :: else -> skip fi };
     if
     :: seen == WAIT_PAY -> if :: restore_due[n] = true :: skip fi         /* or it dies here */
     :: else -> skip
     fi
#else
     atomic { if :: order[n] == WAIT_PAY -> order[n] = CANCELLED; restore_due[n] = true :: else -> skip fi }
#endif
#endif
  :: at_work == 0 -> break
  od;
  no_more_cancels = true;
  over++
}

#define NO_CLAIM (!claim[0] && !claim[1] && !claim[2])
#define NO_EVENT (!restore_due[0] && !restore_due[1] && !restore_due[2])
#define NO_MESSAGE (on_the_way[0] + on_the_way[1] + on_the_way[2] == 0)

#define REAP(n) atomic { claim[n] -> end_claim(n); restore_due[n] = true }
active proctype Reaper() {
  do
  :: REAP(0)
  :: REAP(1)
  :: REAP(2)
  :: at_work == 0 && NO_CLAIM -> break
  od;
  over++
}

/* It may die between the two: then it does the first again. */
#define HANDLE(n) atomic { restore_due[n] -> restore(n) }; if :: restore_due[n] = false :: skip fi
active proctype Relay() {
  do
  :: HANDLE(0)
  :: HANDLE(1)
  :: HANDLE(2)
  :: at_work == 0 && no_more_cancels && NO_CLAIM && NO_EVENT -> break
  od;
  over++
}

/* Late, or never. */
#define ARRIVE(n) atomic { on_the_way[n] > 0 -> on_the_way[n]--; if :: true -> deduct(n) :: skip fi }
active proctype Network() {
  do
  :: ARRIVE(0)
  :: ARRIVE(1)
  :: ARRIVE(2)
  :: at_work == 0 && NO_MESSAGE -> break
  od;
  over++
}

#define IS_ORDER(n) (order[n] != ABSENT)
#define HOLDS_STOCK(n) (order[n] == WAIT_PAY || order[n] == PAID)

/* What holds at every moment. */
active proctype Always() {
  byte n;
  atomic {
    assert(IS_ORDER(0) + IS_ORDER(1) + IS_ORDER(2) <= 1);
    for (n : 0 .. NUMBERS - 1) {
      assert(!(claim[n] && IS_ORDER(n)));
      assert(!HOLDS_STOCK(n) || header[n] == DEDUCTED);
      assert(!HOLDS_STOCK(n) || !restore_due[n]);
      assert(!(told_paid && order[n] == CANCELLED))
    }
  }
}

/* What holds when nothing is at work any more. */
active proctype InTheEnd() {
  byte n;
  atomic {
    over == 5;
    assert(available == PIECES - HOLDS_STOCK(0) - HOLDS_STOCK(1) - HOLDS_STOCK(2));
    for (n : 0 .. NUMBERS - 1) { assert(header[n] != DEDUCTED || HOLDS_STOCK(n)) }
  }
}

init { atomic { byte i; for (i : 1 .. CALLERS) { run CreateOrder() } } }
