import { useState } from 'react'
import type { Model } from '../../shared/api/client.ts'
import { regions, t } from '../../shared/text/labels.ts'
import { Button } from '../../shared/ui/button.tsx'
import { Choice, ChoiceGroup } from '../../shared/ui/choice.tsx'
import { Field } from '../../shared/ui/field.tsx'
import { ActionButton } from '../action-button.tsx'
import { readNumber, readText } from '../member-values.ts'
import type { ModelWithProvider } from './catalogue.ts'
import { FileOwned, findLine, useOrigin } from './config-file.tsx'
import { createUpdate } from './model-dialogs.tsx'
import styles from './prices.module.css'

type Pricing = NonNullable<Model['pricing']>
type PriceRange = NonNullable<Extract<Pricing, { ranges: unknown }>['ranges']>[number]

const MILLION = 1_000_000

/** Returns the prices by input length, the shortest first. */
const getPriceRanges = ({ pricing }: Pick<Model, 'pricing'>): readonly PriceRange[] =>
  (pricing && 'ranges' in pricing && pricing.ranges) || []

const getFirstRange = (model: Pick<Model, 'pricing'>): PriceRange | undefined => getPriceRanges(model)[0]

const isFree = ({ pricing }: Pick<Model, 'pricing'>): boolean => pricing !== null && 'free' in pricing

/** Formats the price of a million tokens; undefined if it is unknown, when limits in money refuse the model. */
export function formatPrice(model: Pick<Model, 'pricing'>): string | undefined {
  if (isFree(model)) return t('app.model.free')
  const range = getFirstRange(model)
  if (!range) return undefined
  const money = new Intl.NumberFormat([...regions], {
    style: 'currency',
    currency: range.currency,
    maximumFractionDigits: 2,
  })
  const [input, output] = [range.inputCostPerToken, range.outputCostPerToken].map((cost) =>
    cost === null ? '–' : money.format(cost * MILLION),
  )
  return `${input} / ${output}`
}

/** Converts the price of a token to that of a million tokens, as a field shows it. */
const toMillionPrice = (cost: number | null | undefined): string =>
  cost === null || cost === undefined ? '' : String(Number((cost * MILLION).toPrecision(12)))

/** The prices per token that the form shows per million tokens. */
const rateFields = [
  ['inputCostPerToken', 'app.admin.priceInput'],
  ['inputCostPerCachedToken', 'app.admin.priceCached'],
  ['inputCostPerCacheWriteToken', 'app.admin.priceCacheWrite'],
  ['outputCostPerToken', 'app.admin.priceOutput'],
  ['outputCostPerReasoningToken', 'app.admin.priceReasoning'],
] as const

/** Reads the prices: unknown, free, or one range for each step of the input length. */
function readPricing(form: FormData, model: Pick<Model, 'pricing'>): Pricing | null {
  const kind = readText(form, 'kind')
  if (kind === 'unknown') return null
  if (kind === 'free') return { free: true }
  const storedRanges = getPriceRanges(model)
  const currency = readText(form, 'currency').toUpperCase()
  const steps = form
    .getAll('step')
    .map((step) => ({ step: Number(step), from: readNumber(form, `${step} from`) ?? 0 }))
    .toSorted((a, b) => a.from - b.from)
  const ranges = steps.map(({ step, from }, at): PriceRange => {
    const [input = null, cached = null, cacheWrite = null, output = null, reasoning = null] = rateFields.map(([name]) =>
      readRate(form, `${step} ${name}`),
    )
    return {
      // The prices of searches have no field and keep their values.
      ...storedRanges[step],
      currency,
      range: [from, steps[at + 1]?.from ?? storedRanges.at(-1)?.range[1] ?? null],
      inputCostPerToken: input,
      inputCostPerCachedToken: cached,
      inputCostPerCacheWriteToken: cacheWrite,
      outputCostPerToken: output,
      outputCostPerReasoningToken: reasoning,
    }
  })
  return { ranges, priorityRanges: null }
}

/** Rounds to the digits of the price, as dividing 0.1 by a million adds others. */
function readRate(form: FormData, name: string): number | null {
  const cost = readNumber(form, name)
  return cost === null ? null : Number((cost / MILLION).toPrecision(15))
}

interface PriceProps {
  model: ModelWithProvider
}

/** Edits the prices, which can have steps by input length. */
export function EditPrices({ model }: PriceProps) {
  const isOwned = findLine(useOrigin(), 'pricing') !== undefined
  return (
    <ActionButton
      label={t('app.admin.prices')}
      title={t('app.admin.pricesOf', { name: model.label })}
      text={t('app.admin.pricesText')}
      width="wide"
      action={t('app.save')}
      record={model}
      act={
        isOwned ? undefined : (form, condition) => createUpdate(model)({ pricing: readPricing(form, model) }, condition)
      }
    >
      <FileOwned attribute="pricing">
        <PriceFields model={model} />
      </FileOwned>
    </ActionButton>
  )
}

function getPriceKind(model: Pick<Model, 'pricing'>): 'free' | 'priced' | 'unknown' {
  if (isFree(model)) return 'free'
  return getFirstRange(model) ? 'priced' : 'unknown'
}

function PriceFields({ model }: PriceProps) {
  const [kind, setKind] = useState(getPriceKind(model))
  const kinds = [
    ['priced', t('app.admin.priceByToken')],
    ['free', t('app.model.free')],
    ['unknown', t('app.admin.priceUnknown')],
  ] as const
  return (
    <>
      <ChoiceGroup label={t('app.admin.price')}>
        {kinds.map(([value, text]) => (
          <Choice
            key={value}
            type="radio"
            name="kind"
            value={value}
            label={text}
            checked={value === kind}
            onChange={() => setKind(value)}
          />
        ))}
      </ChoiceGroup>
      {kind === 'priced' && (
        <>
          <Field
            label={t('app.admin.currency')}
            name="currency"
            defaultValue={getFirstRange(model)?.currency ?? 'EUR'}
            required
            pattern="[A-Za-z]{3}"
            maxLength={3}
          />
          <PriceSteps ranges={getPriceRanges(model)} />
        </>
      )}
    </>
  )
}

/** The fields of each step of the input length. */
function PriceSteps({ ranges }: { ranges: readonly PriceRange[] }) {
  const [steps, setSteps] = useState(() => Array.from({ length: Math.max(1, ranges.length) }, (_, index) => index))
  return (
    <>
      {steps.map((step) => (
        <fieldset key={step} className={styles.step}>
          <legend>{step === 0 ? t('app.admin.fromFirstToken') : t('app.admin.longerInput')}</legend>
          <input type="hidden" name="step" value={step} />
          <div className={styles.rates}>
            {step > 0 && (
              <Field
                label={t('app.admin.fromTokens')}
                name={`${step} from`}
                type="number"
                min={1}
                defaultValue={ranges[step]?.range[0] ?? ''}
                required
              />
            )}
            {rateFields.map(([name, label]) => (
              <Field
                key={name}
                label={t(label)}
                name={`${step} ${name}`}
                type="number"
                step="any"
                min={0}
                defaultValue={toMillionPrice(ranges[step]?.[name])}
              />
            ))}
          </div>
          {step > 0 && (
            <Button onClick={() => setSteps(steps.filter((each) => each !== step))}>{t('app.admin.removeStep')}</Button>
          )}
        </fieldset>
      ))}
      <Button onClick={() => setSteps([...steps, Math.max(...steps, ranges.length - 1) + 1])}>
        {t('app.admin.addStep')}
      </Button>
    </>
  )
}
