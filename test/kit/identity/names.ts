let count = 0

/** A username of one test's own, so that tests can share a service. */
export const newName = (stem = 'ada') => `${stem}-${++count}`
