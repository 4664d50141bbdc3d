//! What a model keeps between requests: variables and tables. Filled while it is loaded, never changed after.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;

use crate::tensor::{DType, Element as _, Shape, Tensor};

/// A key of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Text(Bytes),
    Number(i64),
}

/// From keys to values of one type.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) rows: HashMap<Key, usize>,
    /// Each found at the number of its row.
    pub(crate) values: Tensor,
}

impl Table {
    pub(crate) fn new(keys: &Tensor, values: Tensor) -> Result<Self, String> {
        let keys = keys_of(keys)?;
        if values.shape() != [keys.len()] {
            return Err(format!(
                "{} keys have values of shape {:?}",
                keys.len(),
                values.shape()
            ));
        }
        let mut rows = HashMap::with_capacity(keys.len());
        for (row, key) in keys.into_iter().enumerate() {
            if rows.insert(key, row).is_some() {
                return Err("a key occurs twice".to_owned());
            }
        }
        Ok(Self { rows, values })
    }

    /// The value of each key, or the default where there is none.
    pub(crate) fn find(&self, keys: &Tensor, default: &Tensor) -> Result<Tensor, String> {
        let rows: Vec<Option<usize>> = match keys.data() {
            crate::tensor::Data::Text(keys) => {
                let find = |key: &Bytes| self.rows.get(&Key::Text(key.clone())).copied();
                keys.iter().map(find).collect()
            }
            _ => keys_of(keys)?
                .iter()
                .map(|key| self.rows.get(key).copied())
                .collect(),
        };
        let shape = Shape::from_slice(keys.shape());
        macro_rules! pick {
            ($type:ty) => {
                if let (Some(values), Some([default])) =
                    (self.values.values::<$type>(), default.values::<$type>())
                {
                    let pick =
                        |row: &Option<usize>| row.map_or_else(|| default.clone(), |row| values[row].clone());
                    let found = <$type>::data(Arc::new(rows.iter().map(pick).collect()));
                    return Tensor::from_parts(shape, found).ok_or_else(|| "impossible shape".to_owned());
                }
            };
        }
        pick!(i64);
        pick!(Bytes);
        pick!(f32);
        pick!(i32);
        pick!(f64);
        pick!(bool);
        Err(format!(
            "values of type {} with a default of type {}",
            self.values.dtype(),
            default.dtype()
        ))
    }
}

pub(crate) fn keys_of(keys: &Tensor) -> Result<Vec<Key>, String> {
    if let Some(texts) = keys.values::<Bytes>() {
        return Ok(texts.iter().cloned().map(Key::Text).collect());
    }
    if let Some(numbers) = keys.values::<i64>() {
        return Ok(numbers.iter().copied().map(Key::Number).collect());
    }
    if let Some(numbers) = keys.values::<i32>() {
        return Ok(numbers
            .iter()
            .map(|number| Key::Number(i64::from(*number)))
            .collect());
    }
    Err(format!("keys of type {} are not supported", keys.dtype()))
}

pub(crate) enum Resource {
    Variable(Option<Tensor>),
    Table(TableState),
}

pub(crate) struct TableState {
    pub(crate) key_type: DType,
    pub(crate) value_type: DType,
    pub(crate) content: Option<Arc<Table>>,
}

/// Resources by the number they have while a model is compiled.
#[derive(Default)]
pub(crate) struct Resources {
    all: Vec<Resource>,
    names: HashMap<String, usize>,
}

impl Resources {
    /// The number of a resource, which is made where it is named for the first time.
    pub(crate) fn number(&mut self, name: &str, make: impl FnOnce() -> Resource) -> usize {
        if let Some(number) = self.names.get(name) {
            return *number;
        }
        self.all.push(make());
        self.names.insert(name.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }

    pub(crate) fn variable(&self, number: usize) -> Option<&Tensor> {
        match self.all.get(number)? {
            Resource::Variable(value) => value.as_ref(),
            Resource::Table(_) => None,
        }
    }

    pub(crate) fn assign(&mut self, number: usize, value: Tensor) -> Result<(), String> {
        match self.all.get_mut(number) {
            Some(Resource::Variable(place)) => *place = Some(value),
            _ => return Err("this is no variable".to_owned()),
        }
        Ok(())
    }

    pub(crate) fn table(&self, number: usize) -> Option<&TableState> {
        match self.all.get(number)? {
            Resource::Table(table) => Some(table),
            Resource::Variable(_) => None,
        }
    }

    pub(crate) fn fill(&mut self, number: usize, content: Table) -> Result<(), String> {
        match self.all.get_mut(number) {
            Some(Resource::Table(table)) => table.content = Some(Arc::new(content)),
            _ => return Err("this is no table".to_owned()),
        }
        Ok(())
    }

    /// About how much memory the variables take.
    pub(crate) fn bytes(&self) -> usize {
        let of = |resource: &Resource| match resource {
            Resource::Variable(Some(value)) => value.bytes(),
            _ => 0,
        };
        self.all.iter().map(of).sum()
    }
}
