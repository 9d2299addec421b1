export const DAY_MS = 86_400_000

/** Returns the day in UTC that was so many days ago, as the service counts days. */
export const getDayBefore = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10)
