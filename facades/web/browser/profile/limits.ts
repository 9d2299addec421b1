import type { Translate } from '../errors.ts'
import { element, fill } from '../form.ts'
import { minuteOf, writtenMoney, writtenNumber } from '../moments.ts'
import { ask } from '../server.ts'

interface Limit {
  name: string
  subject: string
  subjectId: string
  roomName: string | null
  unit: 'requests' | 'tokens' | 'money'
  currency: string | null
  mode: 'enforce' | 'observe'
  cap: number
  used: number
  held: number
  remaining: number
  resetsAt: string
}

/** From this part of a limit on, its meter warns. */
const NEARLY = 0.8

/** Shows how much of each limit the person has used, and what is left; nothing where there are no limits. */
export const showLimits = (translate: Translate) => fill(translate, 'limits', () => show(translate))

async function show(translate: Translate): Promise<void> {
  const { result } = await ask<{ result: { data: Limit[] } }>('GET', '/trpc/usage.limits')
  const list = Object.assign(document.createElement('ul'), { className: 'limits' })
  list.append(...result.data.map((limit) => lineOf(translate, limit)))
  element('limits').replaceChildren(...(result.data.length > 0 ? [list] : []))
}

function lineOf(translate: Translate, limit: Limit): HTMLLIElement {
  const { cap, used, held } = limit
  const name = [limit.name, whoseOf(limit)].filter(Boolean).join(' · ')
  const line = document.createElement('li')
  const meter = document.createElement('meter')
  // Of several bounds, a later one may not be below the earlier.
  Object.assign(meter, {
    min: 0,
    max: Math.max(1, cap),
    low: NEARLY * cap,
    high: cap - 0.5,
    optimum: 0,
    value: used + held,
  })
  meter.setAttribute('aria-label', name)
  const told = Object.assign(document.createElement('p'), {
    className: 'hint',
    textContent: sentence(translate, limit),
  })
  line.append(Object.assign(document.createElement('strong'), { textContent: name }), meter, told)
  return line
}

/** By which people tell apart what each one of a kind has of its own; ids of people, tokens and apps tell them nothing. */
const whoseOf = ({ subject, subjectId, roomName }: Limit) => (named.has(subject) ? subjectId : roomName)

const named = new Set(['provider', 'model', 'group'])

function sentence(translate: Translate, { unit, currency, mode, cap, used, held, remaining, resetsAt }: Limit): string {
  const amount = (count: number) => (unit === 'money' ? writtenMoney(count, currency ?? '') : writtenNumber(count))
  const whole = unit === 'money' ? amount(cap) : translate(unitLabels[unit]).replace(':count', amount(cap))
  const say = (key: string, word: string, value: string) => translate(key).replace(word, value)
  return [
    say('page.profile.limitUsed', ':used', amount(used)).replace(':cap', whole),
    held > 0 && say('page.profile.limitHeld', ':held', amount(held)),
    say('page.profile.limitLeft', ':left', amount(remaining)),
    say('page.profile.limitResets', ':at', minuteOf(resetsAt)),
    mode === 'observe' && translate('page.profile.limitObserved'),
  ]
    .filter(Boolean)
    .join(' · ')
}

const unitLabels = { requests: 'page.profile.limitRequests', tokens: 'page.profile.limitTokens' } as const
