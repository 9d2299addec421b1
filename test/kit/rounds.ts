import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether this is `npm run soak`, which has time. */
    soak: boolean
  }
}

/** How often a test repeats what chance decides: a few times in `npm test`, many times in `npm run soak`. */
export const chooseRounds = (usual: number, inSoak: number): number => (inject('soak') ? inSoak : usual)

/** What a test goes through: all of a long list in `npm run soak`, in `npm test` every so many, about `count`. */
export const sampleList = <T>(list: readonly T[], count: number): T[] => {
  const step = inject('soak') ? 1 : Math.ceil(list.length / count)
  return list.filter((_, index) => index % step === 0)
}
