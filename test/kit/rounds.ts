import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** True in `npm run soak`, which has time. */
    soak: boolean
  }
}

/** Chooses the number of random repetitions: few in `npm test` of an area, many in `npm run soak`. */
export const chooseRounds = (usual: number, inSoak: number): number => (inject('soak') ? inSoak : usual)

/** Returns the whole list in `npm run soak`, and in `npm test` of an area about `count` evenly spaced items of it. */
export const sampleList = <T>(list: readonly T[], count: number): T[] => {
  const step = inject('soak') ? 1 : Math.ceil(list.length / count)
  return list.filter((_, index) => index % step === 0)
}
