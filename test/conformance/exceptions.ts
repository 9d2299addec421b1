export interface NamedException {
  /** The obligation that is not met. */
  obligation: string
  /** The route or member where it is not met; everywhere else it holds. */
  at: RegExp
  reason: string
}

/** The deliberate deviations of this service from the standard. */
export const exceptions: NamedException[] = [
  {
    obligation: 'names.edges',
    at: /\/meta\/_svc_sync_log$/,
    reason: 'The specification of the service names this member, so it keeps the underscore in front.',
  },
  {
    obligation: 'negotiation.other-media-type',
    at: /\/actions\//,
    reason: 'Existing front ends send plain application/json to the custom actions.',
  },
  {
    obligation: 'names.nested',
    at: /\/translation-labels\b/,
    reason: 'The labels of a locale are one flat map, whose keys have dots in them.',
  },
  {
    obligation: 'query-parameters.language',
    at: /^GET \/api\/svc\/v1\/[\w-]+\?(lang|locale)=en$/,
    reason: 'Existing front ends ask for the language of an answer by these names.',
  },
]
