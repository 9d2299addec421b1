/** Joins the class names that are given; a condition that is false or absent adds none. */
export const joinClasses = (...names: readonly (string | false | undefined)[]): string =>
  names.filter(Boolean).join(' ')
