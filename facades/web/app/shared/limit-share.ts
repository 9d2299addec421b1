/** The share of a limit from which on people are warned. */
export const WARN_SHARE = 0.8

/** The share of a limit that is used or reserved; over 1 where it was lowered or observed. */
export const getUsedShare = ({ cap, used, held }: { cap: number; used: number; held: number }): number =>
  cap === 0 ? 1 : (used + held) / cap
