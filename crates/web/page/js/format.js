// Numbers, times and amounts as text, in the words of the commands.

const ZONE = new Intl.DateTimeFormat('en', { timeZoneName: 'short' });

/** Milliseconds since 1970 of a time as the server writes it. */
export function ms(time) {
  if (time === null || time === undefined) return null;
  return typeof time === 'number' ? time : Date.parse(time);
}

/** How far the server's clock is ahead of this one's. */
let ahead = 0;
export function setClock(serverNow) {
  ahead = serverNow - Date.now();
}
let stopped = null;
/** A frozen page stands still at the time it was written. */
export function stopClock(at) {
  stopped = at;
}
export function now() {
  return stopped ?? Date.now() + ahead;
}

export function duration(millis) {
  if (millis === null || millis === undefined) return '';
  if (millis < 0) return '0s';
  if (millis < 10_000 && millis % 1000 !== 0) return `${(millis / 1000).toFixed(1)}s`;
  const all = Math.round(millis / 1000);
  const [hours, minutes, seconds] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60];
  if (hours >= 48) return `${Math.floor(hours / 24)}d ${hours % 24}h`;
  if (hours) return `${hours}h ${minutes}m`;
  return minutes ? `${minutes}m ${seconds}s` : `${seconds}s`;
}

/** Whole seconds: for what ticks. */
export function ticking(millis) {
  return duration(Math.floor(Math.max(0, millis) / 1000) * 1000);
}

export function money(micro) {
  if (micro === null || micro === undefined) return '–';
  const usd = micro / 1e6;
  if (usd > 0 && usd < 0.01) return '<$0.01';
  return `$${usd >= 1000 ? Math.round(usd).toLocaleString('en-US') : usd.toFixed(2)}`;
}

export function tokens(count) {
  if (count < 1000) return String(count);
  if (count < 1e6) return `${(count / 1e3).toFixed(count < 1e4 ? 1 : 0)}k`;
  return `${(count / 1e6).toFixed(count < 1e7 ? 2 : 1)}M`;
}

export function number(count) {
  return (count ?? 0).toLocaleString('en-US');
}

export function count(n, noun) {
  return `${number(n)} ${noun}${n === 1 ? '' : noun.endsWith('ch') ? 'es' : 's'}`;
}

const two = n => String(n).padStart(2, '0');

export function day(time) {
  const at = new Date(ms(time));
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

export function clock(time) {
  const at = new Date(ms(time));
  return `${two(at.getHours())}:${two(at.getMinutes())}`;
}

export function zone(time) {
  return ZONE.formatToParts(new Date(ms(time))).find(part => part.type === 'timeZoneName')?.value ?? '';
}

/** A moment in your time zone, to the minute, with the name of the zone. */
export function when(time) {
  return time === null || time === undefined ? '' : `${day(time)} ${clock(time)} ${zone(time)}`;
}

export function short(commit) {
  return (commit ?? '').slice(0, 7);
}
