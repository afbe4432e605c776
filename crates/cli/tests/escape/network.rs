//! A box without a network reaches nobody.

use crate::world::{World, everybody, has_boxes};

#[test]
fn a_sandbox_without_a_network_reaches_no_host() {
    if !has_boxes("a box without a network") {
        return;
    }
    for who in everybody("a box without a network") {
        let world = World::new(who, "full");
        world.aim("network sockets");
        let ended = world.build(&["--set", "sandbox.network.policy=deny"]);
        let tried = world.tried(&ended);
        let out: Vec<_> = tried.iter().filter(|(_, (worked, _))| *worked).collect();
        assert!(out.is_empty(), "{who:?}: {out:#?}");
        assert_eq!(world.reached(), 0);
    }
}

#[test]
fn a_sandbox_that_shares_the_network_reaches_whoever_it_likes() {
    if !has_boxes("a box that shares the network") {
        return;
    }
    let world = World::new(crate::world::Who::Me, "full");
    world.aim("network");
    let ended = world.build(&[]);
    let tried = world.tried(&ended);
    assert!(tried["tcp"].0 && tried["udp"].0, "{tried:#?}");
}
