//! The order of lanes, by example and by chance.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::plan::markdown::{PlanKind, read};

fn parsed(text: &str) -> Result<(Vec<Section>, Vec<String>), SectionError> {
    sections(&read(PlanKind::Branches, text).unwrap())
}

fn section(name: &str, needs: &[usize], touches: &[&str]) -> Section {
    Section {
        name: BranchName::new(name).unwrap(),
        line: 1,
        goal: String::new(),
        base: None,
        needs: needs.to_vec(),
        touches: touches.iter().map(|glob| (*glob).to_owned()).collect(),
        tasks: 1,
        ticked: 0,
    }
}

#[test]
fn s4_6_every_section_is_read_with_what_it_needs() {
    let (found, empty) = parsed(
        "# Plan\n\n## Branch: one\nGoal: First\nBase: dev\n\n- [x] a\n- [ ] b\n\n\
         ## Branch: two\nNeeds: one, later\nTouches: src/*, docs/\n\n- [ ] c\n\n## Branch: later\n",
    )
    .unwrap();
    assert_eq!(empty, ["later"]);
    let [one, two] = &found[..] else { panic!("{found:?}") };
    assert_eq!((one.goal.as_str(), one.base.as_deref()), ("First", Some("dev")));
    assert_eq!((one.tasks, one.ticked), (2, 1));
    assert_eq!(two.needs, [0], "what has no task is not waited for");
    assert_eq!(two.touches, ["src/*", "docs/"]);
}

#[test]
fn sections_that_cannot_be_are_named_with_their_line() {
    let plan = |names: [&str; 2], more: &str| {
        let [one, two] = names;
        format!("## Branch: {one}\n{more}\n\n- [ ] a\n\n## Branch: {two}\n\n- [ ] b\n")
    };
    for (text, output) in [
        (plan(["-x", "b"], ""), "line 1: a branch name cannot start with \"-\""),
        (plan(["a", "../b"], ""), "line 6: a branch name cannot contain \"..\""),
        (plan(["a", "A"], ""), "branches a and A differ only in case"),
        (plan(["a", "a/b"], ""), "branches a and a/b cannot both exist"),
        (plan(["a", "b"], "Needs: c"), "line 1: branch a needs c, and the plan has no such branch"),
        (plan(["a", "b"], "Needs: a"), "line 1: these branches need each other: a → a"),
    ] {
        assert_eq!(parsed(&text).unwrap_err().to_string(), output);
    }
    let text = "## Branch: a\nNeeds: b\n- [ ] x\n## Branch: b\nNeeds: c\n- [ ] x\n\
                ## Branch: c\nNeeds: b\n- [ ] x\n";
    let error = parsed(text).unwrap_err().to_string();
    assert_eq!(error, "line 4: these branches need each other: b → c → b");
}

#[test]
fn lanes_begin_in_the_order_of_the_plan_and_wait_for_what_they_need() {
    let list = vec![section("a", &[1], &[]), section("b", &[], &[]), section("c", &[], &[])];
    let mut schedule = Schedule::new(list, 0);
    assert_eq!([schedule.next_lane(), schedule.next_lane()], [Some(1), Some(2)]);
    assert_eq!(schedule.next_lane(), None);
    schedule.ended(2, true);
    assert_eq!(schedule.next_lane(), None);
    schedule.ended(1, true);
    assert_eq!(schedule.next_lane(), Some(0));
    schedule.ended(0, true);
    assert_eq!((schedule.next_lane(), schedule.is_busy()), (None, false));
    assert!(schedule.left_out().is_empty());
}

#[test]
fn what_needs_an_incomplete_branch_never_begins() {
    let list = vec![section("a", &[], &[]), section("b", &[0], &[]), section("c", &[1], &[])];
    let mut schedule = Schedule::new(list, 0);
    assert_eq!(schedule.next_lane(), Some(0));
    schedule.ended(0, false);
    assert_eq!(schedule.next_lane(), None);
    assert_eq!(schedule.left_out(), [(1, vec![0]), (2, vec![1])]);
}

#[test]
fn branches_that_touch_the_same_files_are_not_side_by_side() {
    let list = vec![section("a", &[], &["src/"]), section("b", &[], &["src/x.rs"])];
    let mut schedule = Schedule::new(list, 0);
    assert_eq!([schedule.next_lane(), schedule.next_lane()], [Some(0), None]);
    schedule.ended(0, false);
    assert_eq!(schedule.next_lane(), Some(1), "how the other ended does not matter");
}

#[test]
fn one_branch_alone_takes_the_others_as_the_plan_has_them() {
    let mut done = section("a", &[], &[]);
    done.ticked = 1;
    let list = vec![done, section("b", &[0], &[]), section("c", &[1], &[])];
    let mut schedule = Schedule::new(list.clone(), 0);
    schedule.only(1);
    assert_eq!([schedule.next_lane(), schedule.next_lane()], [Some(1), None]);
    let mut schedule = Schedule::new(list, 0);
    schedule.only(2);
    assert_eq!(schedule.next_lane(), None);
    assert_eq!(schedule.left_out(), [(2, vec![1])]);
}

#[test]
fn the_joint_code_is_the_first_of_the_order_that_any_lane_has() {
    for (codes, joint) in [
        (&[0, 0][..], 0),
        (&[], 0),
        (&[0, 9], 9),
        (&[9, 2], 2),
        (&[2, 7, 0], 7),
        (&[7, 8], 8),
        (&[8, 6], 6),
        (&[6, 3], 3),
        (&[3, 4], 4),
        (&[4, 10], 10),
        (&[10, 5], 5),
        (&[5, 1], 1),
        (&[1, 130, 0], 130),
    ] {
        assert_eq!(joint_code(codes.iter().copied()), joint, "{codes:?}");
    }
}

/// Sections that need only earlier ones, in any order of the plan.
fn any_sections() -> impl Strategy<Value = Vec<Section>> {
    let one = (prop::collection::vec(any::<prop::sample::Index>(), 0..3), 0..4_usize);
    prop::collection::vec(one, 1..9).prop_flat_map(|drawn| {
        let count = drawn.len();
        let order = Just((0..count).collect::<Vec<usize>>()).prop_shuffle();
        order.prop_map(move |order| {
            let mut list: Vec<Option<Section>> = vec![None; count];
            for (at, (needs, touches)) in drawn.iter().enumerate() {
                let needs: BTreeSet<usize> =
                    needs.iter().filter(|_| at > 0).map(|need| order[need.index(at)]).collect();
                let needs: Vec<usize> = needs.into_iter().collect();
                let globs: &[&str] = [&[][..], &["src/"], &["src/a"], &["docs/"]][*touches];
                list[order[at]] = Some(section(&format!("b{at}"), &needs, globs));
            }
            list.into_iter().flatten().collect()
        })
    })
}

proptest! {
    #[test]
    fn each_lane_runs_once_after_its_needs_and_never_too_many(
        list in any_sections(),
        jobs in 0..4_usize,
        ends in prop::collection::vec((any::<prop::sample::Index>(), prop::bool::weighted(0.8)), 20),
    ) {
        let mut schedule = Schedule::new(list.clone(), jobs);
        let most = if jobs == 0 { list.len() } else { jobs };
        let (mut running, mut complete, mut ended) = (vec![], BTreeSet::new(), BTreeSet::new());
        let mut ends = ends.into_iter();
        loop {
            while let Some(next) = schedule.next_lane() {
                prop_assert!(!running.contains(&next) && !ended.contains(&next), "once");
                prop_assert!(list[next].needs.iter().all(|need| complete.contains(need)));
                for other in &running {
                    prop_assert!(!schedule.touch(next, *other));
                }
                running.push(next);
                prop_assert!(running.len() <= most);
            }
            prop_assert_eq!(schedule.is_busy(), !running.is_empty());
            if running.is_empty() {
                break;
            }
            let (which, good) = ends.next().unwrap();
            let lane = running.remove(which.index(running.len()));
            schedule.ended(lane, good);
            ended.insert(lane);
            if good {
                complete.insert(lane);
            }
        }
        for (lane, missing) in schedule.left_out() {
            prop_assert!(!ended.contains(&lane));
            prop_assert!(!missing.is_empty(), "a lane is left out only for what it needs");
        }
        prop_assert_eq!(ended.len() + schedule.left_out().len(), list.len());
    }
}

fn refreshed(schedule: &mut Schedule, text: &str) {
    schedule.refresh(&parsed(text).unwrap().0);
}

#[test]
fn a_section_that_is_added_during_a_run_gets_its_lane() {
    let one = "## Branch: one\n- [ ] a\n";
    let mut schedule = Schedule::new(parsed(one).unwrap().0, 0);
    assert_eq!((schedule.next_lane(), schedule.next_lane()), (Some(0), None));
    // It stands before the others, needs one of them, and keeps its number behind them.
    let more = format!("## Branch: new\nNeeds: one\n- [ ] b\n\n## Branch: free\n- [ ] c\n\n{one}");
    refreshed(&mut schedule, &more);
    let names: Vec<&str> =
        schedule.sections().iter().map(|section| section.name.as_str()).collect();
    assert_eq!(names, ["one", "new", "free"]);
    assert_eq!(schedule.sections()[1].needs, [0]);
    assert_eq!((schedule.next_lane(), schedule.next_lane()), (Some(2), None));
    schedule.ended(0, true);
    assert_eq!(schedule.next_lane(), Some(1));
}

#[test]
fn new_checkboxes_of_a_complete_branch_begin_it_again_and_nothing_else_does() {
    let done = "## Branch: one\n- [x] a\n";
    let mut schedule = Schedule::new(parsed("## Branch: one\n- [ ] a\n").unwrap().0, 0);
    assert_eq!(schedule.next_lane(), Some(0));
    schedule.ended(0, true);
    refreshed(&mut schedule, done);
    assert_eq!(schedule.next_lane(), None, "all of it is done");
    refreshed(&mut schedule, "## Branch: one\n- [x] a\n- [ ] b\n");
    assert_eq!(schedule.next_lane(), Some(0));
    schedule.ended(0, true);
    refreshed(&mut schedule, "## Branch: one\n- [x] a\n- [ ] b\n");
    assert_eq!(schedule.next_lane(), None, "the plan says what it said when it was begun");
    refreshed(&mut schedule, "## Branch: one\n- [x] a\n- [x] b\n- [ ] c\n");
    assert_eq!(schedule.next_lane(), Some(0));
    schedule.ended(0, false);
    refreshed(&mut schedule, "## Branch: one\n- [x] a\n- [x] b\n- [ ] c\n- [ ] d\n");
    assert_eq!(schedule.next_lane(), None, "what was not complete waits for the next run");
}

#[test]
fn where_one_branch_is_asked_for_no_other_begins() {
    let mut schedule =
        Schedule::new(parsed("## Branch: one\n- [ ] a\n\n## Branch: two\n- [ ] b\n").unwrap().0, 0);
    schedule.only(1);
    refreshed(
        &mut schedule,
        "## Branch: one\n- [ ] a\n\n## Branch: two\n- [ ] b\n\n## Branch: new\n- [ ] c\n",
    );
    assert_eq!((schedule.next_lane(), schedule.next_lane()), (Some(1), None));
}

#[test]
fn a_lane_that_watches_its_pull_request_is_in_nobodys_way() {
    let sections = vec![section("a", &[], &["src/*"]), section("b", &[0], &["src/*"])];
    let mut schedule = Schedule::new(sections, 1);
    assert_eq!((schedule.next_lane(), schedule.next_lane()), (Some(0), None));
    schedule.watches(0, true);
    assert_eq!(schedule.next_lane(), Some(1));
    // It has work again, and takes its place before others that wait.
    schedule.watches(0, false);
    schedule.ended(1, true);
    assert!(schedule.is_busy());
    schedule.watches(0, true);
    assert!(schedule.is_busy(), "it is not over yet");
    schedule.ended(0, true);
    assert!(!schedule.is_busy());
    // What has ended does not watch.
    schedule.watches(0, true);
    assert!(!schedule.is_busy());
}
