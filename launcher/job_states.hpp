// SPDX-License-Identifier: BSD-3-Clause
// The life of a job as a table: in which state what event leads to what action and state. An event
// without a row changes nothing.
#pragma once

#include <iterator>

namespace tutti::launcher {

enum class JobState {
  starting,  // nodes are being reached, ranks being started
  running,
  ending,     // ranks have been asked to end
  killing,    // ranks have been killed
  finishing,  // ranks are gone; leftovers, last output
  over,
};

enum class JobEvent {
  launched,    // every rank runs
  failed,      // whatever ends the job early: a rank, a node, a signal, the time
  node_lost,   // noticing it has taken the time that ranks would have had
  impatient,   // the user asks once more
  grace_over,  // the time to end by themselves is over
  overdue,     // nodes have had the time that it may take them
  ranks_gone,
  finished,  // nodes are clean and all output is written
};

enum class JobAction { none, ask_to_end, kill, finish, give_up, leave };

struct JobStep {
  JobState in;
  JobEvent on;
  JobAction action;
  JobState next;
};

inline constexpr JobStep kJobSteps[] = {
    {JobState::starting, JobEvent::launched, JobAction::none, JobState::running},
    {JobState::starting, JobEvent::failed, JobAction::ask_to_end, JobState::ending},
    {JobState::starting, JobEvent::ranks_gone, JobAction::finish, JobState::finishing},
    {JobState::running, JobEvent::failed, JobAction::ask_to_end, JobState::ending},
    {JobState::running, JobEvent::ranks_gone, JobAction::finish, JobState::finishing},
    {JobState::ending, JobEvent::node_lost, JobAction::kill, JobState::killing},
    {JobState::ending, JobEvent::impatient, JobAction::kill, JobState::killing},
    {JobState::ending, JobEvent::grace_over, JobAction::kill, JobState::killing},
    {JobState::ending, JobEvent::ranks_gone, JobAction::finish, JobState::finishing},
    {JobState::killing, JobEvent::overdue, JobAction::give_up, JobState::killing},
    {JobState::killing, JobEvent::ranks_gone, JobAction::finish, JobState::finishing},
    // What the ranks have left behind, such as a job that they have spawned, goes with them.
    {JobState::finishing, JobEvent::failed, JobAction::finish, JobState::finishing},
    {JobState::finishing, JobEvent::overdue, JobAction::give_up, JobState::finishing},
    {JobState::finishing, JobEvent::finished, JobAction::leave, JobState::over},
};

constexpr JobStep job_step(JobState state, JobEvent event) {
  for (const JobStep& step : kJobSteps)
    if (step.in == state && step.on == event) return step;
  return {state, event, JobAction::none, state};
}

}  // namespace tutti::launcher
