import { Combobox, ScrollArea, useCombobox } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import styles from './composer.module.css';

interface Props {
  readonly label: string;
  readonly value: string;
  readonly groups: readonly {
    readonly title: string;
    readonly choices: readonly {
      readonly value: string;
      readonly title: string;
      readonly text: string;
    }[];
  }[];
  readonly onChoose: (value: string) => void;
}

/** Choices in groups, with a search. */
export default function ChoiceList({ label, value, groups, onChoose }: Props) {
  const { t } = useTranslation('chat');
  const [search, setSearch] = useState('');
  const combobox = useCombobox({ opened: true });
  const searchText = search.trim().toLowerCase();
  const matches = groups
    .map(({ title, choices }) => ({
      title,
      choices: choices.filter((choice) =>
        `${choice.title} ${choice.text}`.toLowerCase().includes(searchText),
      ),
    }))
    .filter(({ choices }) => choices.length > 0);
  return (
    <Combobox store={combobox} onOptionSubmit={onChoose}>
      <Combobox.EventsTarget>
        <input
          className={styles['search']}
          type="search"
          role="combobox"
          aria-label={label}
          placeholder={label}
          value={search}
          data-autofocus
          // Focuses the search, because the list may load after the dialog took the focus.
          autoFocus
          onChange={({ currentTarget }) => {
            setSearch(currentTarget.value);
            combobox.resetSelectedOption();
          }}
        />
      </Combobox.EventsTarget>
      <Combobox.Options aria-label={label}>
        <ScrollArea.Autosize mah={320} type="auto" scrollbarSize={6}>
          {matches.map(({ title, choices }) => (
            <Combobox.Group key={title} label={title}>
              {choices.map((choice) => (
                <Combobox.Option
                  key={choice.value}
                  value={choice.value}
                  selected={choice.value === value}
                >
                  <span className={styles['option']}>
                    <span className={styles['optionText']}>
                      <span>{choice.title}</span>
                      {choice.text && <span className={styles['optionHint']}>{choice.text}</span>}
                    </span>
                    {choice.value === value && <IconCheck size={16} stroke={1.5} aria-hidden />}
                  </span>
                </Combobox.Option>
              ))}
            </Combobox.Group>
          ))}
          {matches.length === 0 && <Combobox.Empty>{t('choice.nothing')}</Combobox.Empty>}
        </ScrollArea.Autosize>
      </Combobox.Options>
    </Combobox>
  );
}
