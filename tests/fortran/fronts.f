C SPDX-License-Identifier: BSD-3-Clause
C     Tasks on a tree, as a multifrontal solver has them: each node
C     waits for what its children send to whoever has it, adds that to
C     its own part and sends it on. Messages are packed, of lengths
C     that only their senders know, from a buffer that goes round and
C     whose sends complete when they like; who waits probes for any of
C     them. In fixed form and with mpif.h, as such solvers are.
      PROGRAM FRONTS
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INTEGER NODES, MOST, SLOTS, LONG
      PARAMETER (NODES=255, MOST=24, SLOTS=8, LONG=1000)
      INTEGER RANK, RANKS, IERR, I, K, NODE, PARENT, LENGTH, SLOT
      INTEGER PENDING(NODES), OWNER(NODES), REQUESTS(SLOTS), PLACE
      INTEGER STATUS(MPI_STATUS_SIZE), BYTES, LEFT, TOTAL, WRONG, ROUND
      INTEGER STACK(NODES), DEPTH, HEADER(3), SENT, RECEIVED
      INTEGER COMM, COUNTS(2), ALLOF(2)
      CHARACTER*1 BUFFER(LONG, SLOTS), INCOMING(LONG)
      DOUBLE PRECISION FRONT(MOST, NODES), PART(MOST), WANTED
      LOGICAL FLAG
      EXTERNAL WANTED
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_DUP(MPI_COMM_WORLD, COMM, IERR)
      CALL MPI_COMM_RANK(COMM, RANK, IERR)
      CALL MPI_COMM_SIZE(COMM, RANKS, IERR)
      WRONG = 0
      DO 500 ROUND = 1, 5
      SLOT = 0
      SENT = 0
      RECEIVED = 0
      DEPTH = 0
      LEFT = 0
      DO 10 I = 1, SLOTS
        REQUESTS(I) = MPI_REQUEST_NULL
 10   CONTINUE
C     The children of a node are twice its number, and one more.
      DO 30 NODE = 1, NODES
        OWNER(NODE) = MOD(NODE * 7 + NODE / 3 + ROUND, RANKS)
        PENDING(NODE) = 0
        IF (2 * NODE + 1 .LE. NODES) PENDING(NODE) = 2
        IF (OWNER(NODE) .EQ. RANK) LEFT = LEFT + 1
        DO 20 K = 1, MOST
          FRONT(K, NODE) = DBLE(NODE) / K + ROUND
 20     CONTINUE
        IF (OWNER(NODE) .EQ. RANK .AND. PENDING(NODE) .EQ. 0) THEN
          DEPTH = DEPTH + 1
          STACK(DEPTH) = NODE
        END IF
 30   CONTINUE
C     While nodes of this process are left, either finish one or
C     take what has come.
 100  IF (LEFT .EQ. 0) GOTO 300
      IF (DEPTH .GT. 0) THEN
        NODE = STACK(DEPTH)
        DEPTH = DEPTH - 1
        LEFT = LEFT - 1
        PARENT = NODE / 2
        IF (PARENT .EQ. 0) GOTO 100
        LENGTH = 1 + MOD(NODE, MOST)
        IF (OWNER(PARENT) .EQ. RANK) THEN
          CALL ADDUP(FRONT(1, NODE), FRONT(1, PARENT), LENGTH)
          PENDING(PARENT) = PENDING(PARENT) - 1
          IF (PENDING(PARENT) .EQ. 0) THEN
            DEPTH = DEPTH + 1
            STACK(DEPTH) = PARENT
          END IF
        ELSE
C         The oldest place of the buffer; while its send goes on, take
C         messages, lest two processes wait for each other.
          SLOT = MOD(SLOT, SLOTS) + 1
 110      CALL MPI_TEST(REQUESTS(SLOT), FLAG, STATUS, IERR)
          IF (.NOT. FLAG) THEN
            CALL MPI_IPROBE(MPI_ANY_SOURCE, MPI_ANY_TAG, COMM, FLAG,
     &                      STATUS, IERR)
            IF (FLAG) CALL TAKE
            GOTO 110
          END IF
          HEADER(1) = PARENT
          HEADER(2) = LENGTH
          HEADER(3) = NODE
          PLACE = 0
          CALL MPI_PACK(HEADER, 3, MPI_INTEGER, BUFFER(1, SLOT), LONG,
     &                  PLACE, COMM, IERR)
          CALL MPI_PACK(FRONT(1, NODE), LENGTH, MPI_DOUBLE_PRECISION,
     &                  BUFFER(1, SLOT), LONG, PLACE, COMM, IERR)
          CALL MPI_ISEND(BUFFER(1, SLOT), PLACE, MPI_PACKED,
     &                   OWNER(PARENT), MOD(NODE, 5), COMM,
     &                   REQUESTS(SLOT), IERR)
          SENT = SENT + 1
        END IF
      ELSE
        CALL MPI_PROBE(MPI_ANY_SOURCE, MPI_ANY_TAG, COMM, STATUS, IERR)
        CALL TAKE
      END IF
      GOTO 100
 300  CALL MPI_WAITALL(SLOTS, REQUESTS, MPI_STATUSES_IGNORE, IERR)
      COUNTS(1) = SENT
      COUNTS(2) = RECEIVED
      CALL MPI_ALLREDUCE(COUNTS, ALLOF, 2, MPI_INTEGER, MPI_SUM, COMM,
     &                   IERR)
      IF (ALLOF(1) .NE. ALLOF(2)) WRONG = WRONG + 1
      IF (OWNER(1) .EQ. RANK) THEN
        DO 310 K = 1, MOST
          IF (ABS(FRONT(K, 1) - WANTED(1, K, ROUND)) .GT. 1D-9)
     &      WRONG = WRONG + 1
 310    CONTINUE
      END IF
 500  CONTINUE
      CALL MPI_ALLREDUCE(WRONG, TOTAL, 1, MPI_INTEGER, MPI_SUM, COMM,
     &                   IERR)
      CALL MPI_COMM_FREE(COMM, IERR)
      IF (WRONG .NE. 0) PRINT *, 'wrong: the sums of the tree'
      CALL MPI_FINALIZE(IERR)
      IF (TOTAL .NE. 0) STOP 1
      CONTAINS

C     The message that a probe has found.
      SUBROUTINE TAKE
      INTEGER HEAD(3), AT
      CALL MPI_GET_COUNT(STATUS, MPI_PACKED, BYTES, IERR)
      CALL MPI_RECV(INCOMING, BYTES, MPI_PACKED, STATUS(MPI_SOURCE),
     &              STATUS(MPI_TAG), COMM, STATUS, IERR)
      RECEIVED = RECEIVED + 1
      AT = 0
      CALL MPI_UNPACK(INCOMING, BYTES, AT, HEAD, 3, MPI_INTEGER, COMM,
     &                IERR)
      CALL MPI_UNPACK(INCOMING, BYTES, AT, PART, HEAD(2),
     &                MPI_DOUBLE_PRECISION, COMM, IERR)
      IF (AT .NE. BYTES .OR. MOD(HEAD(3), 5) .NE. STATUS(MPI_TAG) .OR.
     &    OWNER(HEAD(3)) .NE. STATUS(MPI_SOURCE)) WRONG = WRONG + 1
      CALL ADDUP(PART, FRONT(1, HEAD(1)), HEAD(2))
      PENDING(HEAD(1)) = PENDING(HEAD(1)) - 1
      IF (PENDING(HEAD(1)) .EQ. 0) THEN
        DEPTH = DEPTH + 1
        STACK(DEPTH) = HEAD(1)
      END IF
      END SUBROUTINE
      END

      SUBROUTINE ADDUP(FROM, TO, LENGTH)
      INTEGER LENGTH, K
      DOUBLE PRECISION FROM(*), TO(*)
      DO 10 K = 1, LENGTH
        TO(K) = TO(K) + FROM(K)
 10   CONTINUE
      END

C     What comes to node and place K out of all below it.
      RECURSIVE DOUBLE PRECISION FUNCTION WANTED(NODE, K, ROUND)
     &  RESULT(SUM)
      INTEGER NODES, MOST
      PARAMETER (NODES=255, MOST=24)
      INTEGER NODE, K, ROUND, CHILD
      SUM = DBLE(NODE) / K + ROUND
      DO 10 CHILD = 2 * NODE, 2 * NODE + 1
        IF (CHILD .LE. NODES) THEN
          IF (K .LE. 1 + MOD(CHILD, MOST))
     &      SUM = SUM + WANTED(CHILD, K, ROUND)
        END IF
 10   CONTINUE
      END
