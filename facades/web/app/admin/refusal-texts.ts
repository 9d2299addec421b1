import type { SvcError } from '../../../client/index.ts'
import { language, t } from '../shared/text/labels.ts'
import { getMemberLabel } from './member-texts.ts'

/** The phrases in which the service says what is wrong with a value, and their labels; a group of a phrase is a value. */
const phrases: readonly (readonly [phrase: RegExp, label: string])[] = [
  [/^is required$/, 'app.admin.issue.required'],
  [/^is not known here$/, 'app.admin.issue.unknown'],
  [/^must have at most (?<bound>\S+) characters$/, 'app.admin.issue.mostCharacters'],
  [/^must have at least (?<bound>\S+) characters$/, 'app.admin.issue.leastCharacters'],
  [/^must have at most (?<bound>\S+) entries$/, 'app.admin.issue.mostEntries'],
  [/^must be at most (?<bound>\S+)$/, 'app.admin.issue.most'],
  [/^must be at least (?<bound>\S+)$/, 'app.admin.issue.least'],
  [/^must be more than (?<bound>\S+)$/, 'app.admin.issue.more'],
  [/^must be less than (?<bound>\S+)$/, 'app.admin.issue.less'],
  [/^must be one of (?<bound>.+)$/, 'app.admin.issue.oneOf'],
  [/^must be a whole number$/, 'app.admin.issue.whole'],
  [/^must be a number$/, 'app.admin.issue.number'],
  [/^must be a URL/, 'app.admin.issue.address'],
  [/^is not valid$/, 'app.admin.issue.invalid'],
]

type Issue = SvcError['issues'][number]

/**
 * Says why the service refuses a change. It writes in English and by the names of files, which English pages show; on others
 * its common phrases stand in the language of the page with the label of the field, and what is rare is quoted.
 */
export function describeRefusal({ issues, message }: Pick<SvcError, 'issues' | 'message'>): string {
  const isEnglish = language.startsWith('en')
  if (issues.length === 0) return t(isEnglish ? 'app.admin.refused' : 'app.admin.refusedInEnglish', { reason: message })
  return t('app.admin.refused', { reason: issues.map(isEnglish ? quoteIssue : translateIssue).join('; ') })
}

const quoteIssue = ({ path, message }: Issue): string => [path.join('.'), message].filter(Boolean).join(' ')

function translateIssue({ path, message }: Issue): string {
  const name = path.findLast((each) => typeof each === 'string')
  const field = name === undefined ? '' : `${getMemberLabel(String(name))}: `
  for (const [phrase, label] of phrases) {
    const found = phrase.exec(message)
    if (found) return field + t(label, { ...found.groups })
  }
  return field + t('app.admin.issue.quoted', { reason: message })
}
